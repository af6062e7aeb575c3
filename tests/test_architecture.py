"""The walls of the house: which part may import which, read from the source by ast."""

import ast
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from house import House, circles

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. A room may import from its own floor and from those below it.
FLOORS = (
    {"errors", "status", "storage", "support"},
    {"regularizers", "solution", "weights"},
    {"masters", "parallel", "problem"},
    {"solvers"},
    {"data", "features", "graphs", "partial_labels", "partitions"},
    {"oracles", "baselines"},
    {"problems"},
    {"interop", "learner", "modeling", "plugins"},
    {"datasets", "evaluation", "io", "testing"},
    {"model_selection"},
    {"diagnosis"},
    {"plotting"},
    {"compare"},
    {"__init__", "__main__", "cli"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Rooms that import each other, and how many circles of modules a room has, inside of functions too.
# Both may only get fewer: take out those that no longer are.
ROOMS_IN_CIRCLES = {"graphs", "partial_labels", "interop", "learner"}
CIRCLES_OF_MODULES: dict[str, int] = {}

# Whoever is handed one of these lets it answer for itself. Learners, atoms and the kit are
# the doors through which a user's problem comes in, and check what it is.
ASKED_AT_HOME = {
    "ChangePoint",
    "Clustering",
    "CompletableProblem",
    "MetricLearner",
    "MetricLearnerCV",
    "NormalizedCut",
    "PartitionProblem",
    "Problem",
    "SegmentProblem",
    "StructuredSVM",
}
DOORS = ("learner", "modeling", "testing")

OPTIONAL_LIBRARIES = (
    "PIL",
    "dask",
    "distributed",
    "matplotlib",
    "openpyxl",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "requests",
    "ruptures",
    "skimage",
)


@dataclass(frozen=True)
class Import:
    """One imported module or name, and where the import stands."""

    target: str
    line: int
    level: int
    at_load: bool


@dataclass(frozen=True)
class Module:
    """A source file under the name it is imported by."""

    name: str
    path: Path
    tree: ast.Module = field(repr=False)

    @property
    def room(self) -> str:
        return _room(self.name)

    def imports(self) -> Iterator[Import]:
        later = {
            id(node)
            for block in ast.walk(self.tree)
            if _runs_later(block)
            for node in ast.walk(block)
        }
        for node in ast.walk(self.tree):
            at_load = id(node) not in later
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(alias.name, node.lineno, 0, at_load)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    target = f"{node.module or ''}.{alias.name}".lstrip(".")
                    yield Import(target, node.lineno, node.level, at_load)

    def at(self, line: int) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}"


@dataclass(frozen=True)
class Class:
    """A class of the project: its bases by qualified name, its methods by whether concrete."""

    name: str
    where: str
    bases: tuple[str, ...]
    methods: dict[str, bool] = field(hash=False)


@cache
def modules() -> dict[str, Module]:
    found = {}
    for folder, package in (
        ("structsvm", "structsvm"),
        ("oracles", "structsvm.oracles"),
        ("problems", "structsvm.problems"),
    ):
        # rglob does not follow the links structsvm/oracles and structsvm/problems.
        for path in sorted((ROOT / folder).rglob("*.py")):
            inner = path.relative_to(ROOT / folder).with_suffix("").parts
            name = ".".join((package, *inner)).removesuffix(".__init__")
            found[name] = Module(name, path, ast.parse(_source(path)))
    return found


def _source(path: Path) -> str:
    """Return the code of a module; what its stub imports is loaded later, on first use."""
    code, stub = path.read_text(encoding="utf-8"), path.with_suffix(".pyi")
    if stub.exists():
        later = textwrap.indent(stub.read_text(encoding="utf-8"), "    ")
        code += f"\nif TYPE_CHECKING:\n{later}"
    return code


def test_the_tree_is_found() -> None:
    assert {"structsvm", "structsvm.oracles", "structsvm.problems"} <= modules().keys()
    assert not any(path.name == "conftest.py" for path in ROOT.glob("*.py"))


def test_every_module_has_a_floor() -> None:
    strangers = sorted(m.name for m in modules().values() if m.room not in FLOOR_OF)
    assert not strangers, f"give these modules a floor in FLOORS and in docs: {strangers}"


def test_imports_point_downwards() -> None:
    wrong = [
        f"{module.at(found.line)}: {module.room} imports {found.target}"
        for module in modules().values()
        for found in module.imports()
        if (room := _imported_room(found.target)) is not None
        and FLOOR_OF.get(room, -1) > FLOOR_OF.get(module.room, len(FLOORS))
    ]
    assert not wrong, _listed("a lower floor imports a higher one", wrong)


def test_no_import_runs_in_a_circle() -> None:
    graph = {
        module.name: {
            target
            for found in module.imports()
            if found.at_load and (target := _imported_module(found.target)) is not None
        }
        - {module.name}
        for module in modules().values()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")


def test_circles_get_fewer() -> None:
    """Imports inside functions and under TYPE_CHECKING count too: they hide who needs whom."""
    house = House(ROOT)
    rooms, found = circles(house.graph(house.room)), circles(house.graph())
    assert {room for circle in rooms for room in circle} <= ROOMS_IN_CIRCLES, rooms
    counts = Counter(house.room(circle[0]) for circle in found)
    assert not counts - Counter(CIRCLES_OF_MODULES), found


def test_imports_are_absolute() -> None:
    wrong = [
        module.at(found.line)
        for module in modules().values()
        for found in module.imports()
        if found.level
    ]
    assert not wrong, _listed("relative imports", wrong)


def test_oracles_and_problems_have_one_name() -> None:
    wrong = [
        f"{module.at(found.line)}: {found.target}"
        for module in modules().values()
        for found in module.imports()
        if found.target.split(".")[0] in {"oracles", "problems"}
    ]
    assert not wrong, _listed("write structsvm.oracles and structsvm.problems", wrong)


def test_only_its_own_room_asks_whether_something_is_a_learner_or_a_problem() -> None:
    classes = [found.name for module in modules().values() for found in _classes(module)]
    home = {_short(name): _room(name) for name in classes if _short(name) in ASKED_AT_HOME}
    assert home.keys() == ASKED_AT_HOME
    wrong = [
        f"{module.at(call.lineno)}: {ast.unparse(call)}"
        for module in modules().values()
        for call in ast.walk(module.tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance"
        for node in ast.walk(call.args[1])
        if isinstance(node, ast.Name) and node.id in home
        if module.room not in (home[node.id], *DOORS)
    ]
    assert not wrong, _listed("let the learner or the problem answer for itself", wrong)


def test_a_class_is_abstract_or_final() -> None:
    """No method overrides a concrete method of another class of the project, but for hooks."""
    classes = {found.name: found for module in modules().values() for found in _classes(module)}
    wrong = [
        f"{found.where}: {found.name}.{method} overrides {ancestor.name}.{method}"
        for found in classes.values()
        for ancestor in _ancestors(found, classes)
        for method in found.methods
        if ancestor.methods.get(method, False)
    ]
    assert not wrong, _listed("a concrete method is overridden", wrong)


def test_import_leaves_optional_libraries_alone() -> None:
    code = (
        "import sys, sklearn.base\n"  # which itself imports pandas where that is installed
        "before = set(sys.modules)\n"
        "import structsvm\n"
        f"print(*sorted((sys.modules.keys() - before) & {set(OPTIONAL_LIBRARIES)}))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "", "`import structsvm` imports optional libraries"


def _room(module: str) -> str:
    """Return the part of structsvm that a module belongs to: weights, masters, oracles, ..."""
    return module.split(".")[1] if "." in module else "__init__"


def _imported_module(target: str) -> str | None:
    """Return the module of this project that an import reads, None for other libraries."""
    if target in modules():
        return target
    return target.rpartition(".")[0] if target.split(".")[0] == "structsvm" else None


def _imported_room(target: str) -> str | None:
    module = _imported_module(target)
    return None if module is None else _room(module)


def _runs_later(block: ast.AST) -> bool:
    """Tell whether the imports in a block do not run while the module loads."""
    if isinstance(block, ast.If):
        return "TYPE_CHECKING" in ast.unparse(block.test)
    return isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)


def _classes(module: Module) -> Iterator[Class]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            bases = tuple(_qualified(_plain(base), module) for base in node.bases)
            protocol = any(base.endswith("Protocol") for base in bases)
            methods = {
                item.name: not _is_open(item, protocol)
                for item in node.body
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            yield Class(f"{module.name}.{node.name}", module.at(node.lineno), bases, methods)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _plain(base: ast.expr) -> str:
    """Return the dotted name of a base class without its type arguments."""
    return ast.unparse(base.value if isinstance(base, ast.Subscript) else base)


def _is_open(method: ast.FunctionDef | ast.AsyncFunctionDef, protocol: bool) -> bool:
    """Tell whether a subclass has to define a method, or may because it is a hook."""
    made = (d.func if isinstance(d, ast.Call) else d for d in method.decorator_list)
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in made}
    is_hook = bool(decorators & {"abstractmethod", "hook", "promises"})
    return is_hook or (protocol and _is_stub(method.body))


def _is_stub(body: list[ast.stmt]) -> bool:
    """Tell whether a body is nothing but a docstring or an ellipsis."""
    return all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in body)


def _qualified(name: str, module: Module) -> str:
    """Follow a name through the imports of its module, and of the modules it comes from."""
    head, _, rest = name.partition(".")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name) != head:
                    continue
                source = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                full = f"{source}{alias.name}" + (f".{rest}" if rest else "")
                owner, _, attribute = full.rpartition(".")
                origin = modules().get(owner)
                return full if origin is None else _qualified(attribute, origin)
    return f"{module.name}.{name}"


def _ancestors(found: Class, classes: dict[str, Class]) -> Iterator[Class]:
    for base in found.bases:
        if base in classes:
            yield classes[base]
            yield from _ancestors(classes[base], classes)


def _listed(title: str, lines: list[str]) -> str:
    return "\n  ".join([f"{title}:", *lines])


def test_test_files_have_names_of_their_own() -> None:
    """Pytest imports them by name: of two of one name it would refuse the second."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]


def test_no_test_imports_another_test_module() -> None:
    """What tests share stands in a module that holds no tests: a kit, such as enumerated.py."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path in sorted(Path(__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported_names(node)
        if name.split(".")[-1].startswith("test_") or name.split(".")[0] == "conftest"
    ]
    assert not wrong, _listed("move what is shared out of the test module", wrong)


def _imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
