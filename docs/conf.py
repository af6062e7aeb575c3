"""How Sphinx makes the site: the pages of this folder as they are read in the repository."""

import re
import subprocess
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from api_list import api_list  # noqa: E402

project = "structsvm"
author = copyright = "structsvm developers"
release = version = installed("structsvm-partitioning")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"structsvm {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_build/.try-it"]
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page of results may begin a level deeper

nb_execution_mode = "off"  # notebooks keep their outputs
nb_merge_streams = True
NOTEBOOKS = ROOT / "docs" / "notebooks"
"""Where Sphinx finds copies of the notebooks."""

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc writes the types
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False
default_role = "literal"

OUTSIDE = {"index": "README.md", "changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
"""Pages of the site that begin with a file of the folder above."""
LINK_OUT = re.compile(r"(?<!!)\[([^\]]*)\]\(\.\./([^)\s]+)\)")


def _inward(match: re.Match[str]) -> str:
    """A link out of this folder: to the page or file it names; a folder in words."""
    text, target = match.groups()
    if target.endswith(".ipynb"):
        return f"[{text}]({target})"  # a page of the site
    for page, file in OUTSIDE.items():
        if target == file:
            return f"[{text}]({page}.md)"
    if (ROOT / target).is_file():
        return match[0]  # a download
    return f"`{target}`" if text == target else f"{text} (`{target}`)"


def _read(app: Any, page: str, source: list[str]) -> None:
    if page.startswith(f"{NOTEBOOKS.name}/"):
        return  # its links are mended in the copy
    if page in OUTSIDE:
        text = (ROOT / OUTSIDE[page]).read_text(encoding="utf-8")
        text = re.sub(r"\]\((?!https?:)([^)]+)\)", r"](../\1)", text).replace("](../docs/", "](")
        source[0] = f"{text}\n{source[0]}"
    source[0] = LINK_OUT.sub(_inward, source[0])
    if page == "api":
        source[0] += f"\n{api_list(ROOT / 'docs')}"


def _copy_notebooks(app: Any, config: Any) -> None:
    """The notebooks as pages of the site; those that have not changed keep their time."""
    NOTEBOOKS.mkdir(exist_ok=True)
    known = {file.name: file for file in (ROOT / "notebooks").glob("*.ipynb")}
    for copy in NOTEBOOKS.glob("*.ipynb"):
        if copy.name not in known:
            copy.unlink()
    for name, file in known.items():
        text = file.read_text(encoding="utf-8").replace("](../docs/", "](../")
        copy = NOTEBOOKS / name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def _report_the_demo(app: Any, config: Any) -> None:
    """The report that the page of examples shows."""
    report = ROOT / "docs" / "_build" / ".try-it" / "report-of-the-demo.html"
    demo = ROOT / "docs" / "_build" / ".demo"
    report.parent.mkdir(parents=True, exist_ok=True)
    for command in (
        ["demo", "--output", demo, "--force"],
        ["evaluate", demo / "digits.structsvm", demo / "test", "-o", report, "--force"],
    ):
        subprocess.run(
            [sys.executable, "-m", "structsvm", *command], check=True, capture_output=True
        )


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _write_math(translator: Any, node: Any) -> None:
    """Formulas as MathML, which browsers draw themselves: the site needs no network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect what this file adds."""
    for node in (nodes.math, nodes.math_block):
        app.add_node(node, override=True, html=(_write_math, None))
    app.connect("config-inited", _copy_notebooks)
    app.connect("config-inited", _report_the_demo)
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _skip)
