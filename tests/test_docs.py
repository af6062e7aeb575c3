"""What people read holds: blocks and examples run, links lead somewhere, names are there."""

import ast
import doctest
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from pkgutil import resolve_name
from urllib.parse import unquote

import matplotlib as mpl
import pytest
from public_rooms import MODULES, ROOMS, public_things

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
FENCED = re.compile(r"^```(?:python|py) *\n(.*?)^``` *$", re.DOTALL | re.MULTILINE)
RUN = re.compile(r"^```python *\n(.*?)^``` *$", re.DOTALL | re.MULTILINE)
ANY_FENCED = re.compile(r"^```.*?^``` *$", re.DOTALL | re.MULTILINE)
INCLUDED = re.compile(r"<!-- include: (\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?[^)]*\)")
DIRECTIVE = re.compile(
    r"^\.\. auto(?P<kind>class|function|data|module):: (?P<target>\S+)\n"
    r"(?:   :exclude-members: (?P<left_out>\S+)\n)?",
    re.MULTILINE,
)
THINGS = public_things()
OTHERS = ("errors", "model_selection", "problem")
"""Rooms of errors, of choosing, and of the generic structured SVM."""
PUBLIC = {*ROOMS, *(f"structsvm.{room}" for room in OTHERS)} - {*MODULES}


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pages
def test_modules_of_tests_that_pages_name_exist(page: Path) -> None:
    named = re.findall(r"`(?:tests/)?([\w/]*\btest_\w+\.py)`", read(page))
    missing = [name for name in named if not [*(ROOT / "tests").glob(f"**/{name}")]]
    assert not missing


def test_the_list_of_slow_tests_names_existing_ones() -> None:
    lines = read(ROOT / "tests" / "slow.txt").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        path, *names = line.split("::")
        scope = ast.parse(read(ROOT / path)).body
        for name in names:
            kinds = (ast.ClassDef, ast.FunctionDef)
            found = [node for node in scope if isinstance(node, kinds) and node.name == name]
            assert found, line
            scope = found[0].body


@pages
def test_python_blocks_of_pages_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run from top to bottom in one namespace, as a reader would run them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    text = read(page)
    for match in RUN.finditer(text):
        # The empty lines make a traceback name the line of the page.
        above = "\n" * text.count("\n", 0, match.start(1))
        exec(compile(above + match.group(1), str(page), "exec"), namespace)


@pages
def test_links_and_included_files_of_pages_exist(page: Path) -> None:
    text = ANY_FENCED.sub("", read(page))
    paths = (unquote(target.split("#")[0]) for target in LINK.findall(text) if "://" not in target)
    missing = [path for path in paths if path and not (page.parent / path).exists()]
    assert not missing, f"{page.name} links to files that do not exist: {missing}"
    for path, shown in INCLUDED.findall(read(page)):
        assert shown == read(ROOT / path), f"{page.name}: copy {path} again"


def test_the_table_of_the_theory_names_existing_code() -> None:
    page = read(ROOT / "docs" / "theory.md")
    table = page.split("## Equation to code")[1].split("\n## ")[0]
    names = re.findall(r"\| `([\w.]+)` in `([\w.]+)` \|$", table, re.MULTILINE)
    assert len(names) == table.count("\n|") - 2 >= 18
    for name, module in names:
        resolve_name(f"structsvm.{module}.{name}")


# ---- the API


def listed(text: str) -> Iterator[object]:
    """Yield what the directives of a page of the reference show."""
    for found in DIRECTIVE.finditer(text):
        if found["kind"] != "module":
            yield resolve_name(found["target"])
            continue
        module = import_module(found["target"])
        left_out = (found["left_out"] or "").split(",")
        yield from (getattr(module, name) for name in module.__all__ if name not in left_out)


def test_every_public_name_is_in_the_reference_once():
    times = Counter(
        id(value)
        for value in chain.from_iterable(
            listed(read(page)) for page in PAGES if page.parent.name == "api"
        )
    )
    things = public_things(constants=True).items()
    wrong = {address: times[id(value)] for address, value in things if times[id(value)] != 1}
    assert not wrong, f"docs/api has to list these once, and does so many times: {wrong}"


@pytest.mark.parametrize("address", THINGS)
def test_the_example_of_a_public_name_runs(address, tmp_path, monkeypatch):
    room, _, name = address.rpartition(".")
    example = examples(inspect.cleandoc(THINGS[address].__doc__ or ""))
    assert re.search(rf"\b{name}\b", example), f"{address} has no example of its own"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("socket.socket.connect", no_network)
    test = doctest.DocTestParser().get_doctest(example, {"__name__": "__main__"}, address, None, 0)
    assert deep("".join(line.source for line in test.examples)) == []
    report: list[str] = []
    with mpl.rc_context({"backend": "Agg"}):
        doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
    assert list(tmp_path.iterdir()) == [], f"the example of {address} leaves files behind"
    if room == "structsvm.plotting":
        import_module("matplotlib.pyplot").close("all")


def examples(text: str) -> str:
    """Return the section Examples of a docstring, without what follows it."""
    lines = text.splitlines()
    underlined = [
        i for i in range(len(lines) - 1) if set(lines[i + 1]) == {"-"} and lines[i].strip()
    ]
    for start, end in pairwise([*underlined, len(lines)]):
        if lines[start] == "Examples":
            return "\n".join(lines[start + 2 : end]).rstrip() + "\n"
    return ""


def no_network(*arguments: object) -> None:
    raise AssertionError("an example asks the network")


# ---- imports


def sources(path: Path) -> list[str]:
    """Return the Python of a page, notebook, example or template, block by block."""
    text = read(path)
    if path.suffix == ".md":
        return FENCED.findall(text)
    if path.suffix == ".ipynb":
        cells = [
            "".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "code"
        ]
        return [re.sub(r"^[%!].*$", "", cell, flags=re.MULTILINE) for cell in cells]
    return [re.sub(r"\$(\w+)", r"\1", text)]


def deep(source: str) -> list[str]:
    """Return the modules of the project that are imported and not for users."""
    found = []
    for node in ast.walk(ast.parse(source)):
        found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
    return [name for name in found if name.split(".")[0] == "structsvm" and name not in PUBLIC]


TEMPLATES = sorted((ROOT / "structsvm" / "cli" / "template").glob("*.py.txt"))


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS, *EXAMPLES, *TEMPLATES], ids=name_of)
def test_what_people_read_imports_at_most_one_level_deep(path):
    found = list(chain.from_iterable(deep(source) for source in sources(path)))
    assert not found, f"{path.name} imports {found}: import from the room, or make it public there"
