"""Everything that a user installs along may be used as freely as the project itself.

Read from the metadata of what is installed, without the network. Known vulnerabilities are
another matter: `make check` asks the package index for them (tests/audit.py).
"""

import re
from importlib.metadata import Distribution, distribution

import pytest
from packaging.requirements import Requirement

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
}
CLASSIFIERS = {
    "License :: CC0 1.0 Universal (CC0 1.0) Public Domain Dedication",
    "License :: OSI Approved :: Apache Software License",
    "License :: OSI Approved :: BSD License",
    "License :: OSI Approved :: ISC License (ISCL)",
    "License :: OSI Approved :: MIT License",
    "License :: OSI Approved :: Python Software Foundation License",
}
OLD_WORDS = {"Apache 2.0": "Apache-2.0"}
"""How metadata without an expression may name a licence."""


def required(name: str) -> dict[str, Distribution]:
    """Return the distribution and all that it requires, without extras, by name."""
    found, open_names = {}, [name]
    while open_names:
        name = re.sub(r"[-_.]+", "-", open_names.pop()).lower()
        if name in found:
            continue
        found[name] = distribution(name)
        for line in found[name].requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                open_names.append(needed.name)
    return found


def is_permissive(found: Distribution) -> bool:
    """Tell whether one of the ways in which metadata name a licence names a permissive one."""
    metadata = found.metadata
    expression = metadata.get("License-Expression") or metadata.get("License") or ""
    if allowed(OLD_WORDS.get(expression.strip(), expression)):
        return True
    classifiers = [c for c in metadata.get_all("Classifier", []) if c.startswith("License ::")]
    said = "License-Expression" in metadata
    return not said and bool(classifiers) and set(classifiers) <= CLASSIFIERS


def allowed(expression: str) -> bool:
    """Tell whether an SPDX expression can be kept by keeping permissive licences alone."""
    choices = re.split(r"\s+OR\s+", expression.strip())
    return any(
        all(part.strip(" ()") in PERMISSIVE for part in re.split(r"\s+AND\s+", choice))
        for choice in choices
    )


@pytest.mark.parametrize("name", sorted(required("structsvm-partitioning")))
def test_what_is_required_has_a_permissive_licence(name: str) -> None:
    found = distribution(name)
    assert is_permissive(found), (
        f"{name} {found.version}: License-Expression {found.metadata.get('License-Expression')!r}, "
        f"License {(found.metadata.get('License') or '')[:80]!r}; see what it is and either add it "
        "to PERMISSIVE or do without"
    )
