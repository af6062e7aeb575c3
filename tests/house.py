"""Print how big the house is to read: ``python tests/house.py`` counts the package on the path.

What one small call enters, members of contracts, options, lines by kind and room, circles.
Docstrings, comments and blank lines are no code; generated functions and comprehensions are no
functions.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import io
import re
import runpy
import sys
import tempfile
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import networkx as nx

PACKAGES = {
    "structsvm": "structsvm",
    "oracles": "structsvm.oracles",
    "problems": "structsvm.problems",
}
CONTRACTS = (
    *("PartitionProblem", "LabelledInstance", "Objective", "Problem", "Regularizer", "Oracle"),
    *("Solver", "Master", "CutRun"),
)
Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """A module or name of the project that a module imports."""

    target: str
    line: int
    later: bool
    """Whether it is inside a function or under TYPE_CHECKING."""


@dataclass(frozen=True)
class Module:
    """A source file under the name that it is imported by."""

    name: str
    path: Path
    tree: ast.Module = field(repr=False)
    text: str = field(repr=False)

    @property
    def room(self) -> str:
        return self.name.split(".")[1] if "." in self.name else "__init__"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, gone through once for all who ask."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[Import]:
        """Absolute imports of this project, those of one name each."""
        return list(self._imports())

    def _imports(self) -> Iterator[Import]:
        blocks = [block for block in self.nodes if _runs_later(block)]
        later = {id(node) for node in chain.from_iterable(ast.walk(block) for block in blocks)}
        for node in self.nodes:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.split(".")[0] == "structsvm":
                    yield Import(name, node.lineno, id(node) in later)  # type: ignore[attr-defined]

    def lines(self) -> Counter[str]:
        """How many lines are code, docstrings, comments and blank."""
        kinds = dict.fromkeys(range(1, self.text.count("\n") + 1), "blank")
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
                kinds[token.start[0]] = "comment"
            elif token.type not in _LAYOUT:
                kinds |= dict.fromkeys(range(token.start[0], token.end[0] + 1), "code")
        for node in self.nodes:
            for text in _strings_alone(node):
                assert text.end_lineno is not None
                kinds |= dict.fromkeys(range(text.lineno, text.end_lineno + 1), "docstring")
        return Counter(kinds.values())


_LAYOUT = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
)


def _runs_later(block: ast.AST) -> bool:
    if isinstance(block, ast.If):
        return "TYPE_CHECKING" in ast.unparse(block.test)
    return isinstance(block, Functions)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _strings_alone(node: ast.AST) -> Iterator[ast.stmt]:
    """Docstrings, of fields and constants too."""
    body = getattr(node, "body", None)
    for item in body if isinstance(body, list) else []:
        if _is_text(item):
            yield item


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Keep trees of hundreds of files: looking for garbage among them takes longer than parsing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class House:
    """The modules of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        with without_collecting():
            for folder, package in PACKAGES.items():
                for path in sorted((root / folder).rglob("*.py")):  # does not follow links
                    inner = path.relative_to(root / folder).with_suffix("").parts
                    name = ".".join((package, *inner)).removesuffix(".__init__")
                    text = path.read_text(encoding="utf-8")
                    self.modules[name] = Module(name, path, ast.parse(text), text)

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        for module in self.modules.values():
            yield from (node for node in module.nodes if isinstance(node, kinds))

    def module_of(self, target: str) -> str:
        """The module that an imported name is from, or is."""
        return target if target in self.modules else target.rpartition(".")[0]

    def graph(self, of: Callable[[str], str] = str) -> dict[str, set[str]]:
        """Which module (or room) imports which others."""
        found: dict[str, set[str]] = {of(name): set() for name in self.modules}
        for module in self.modules.values():
            here = of(module.name)
            for one in module.imports:
                if self.module_of(one.target) in self.modules:
                    found[here] |= {of(self.module_of(one.target))} - {here}
        return found

    def room(self, name: str) -> str:
        return self.modules[name].room

    @cached_property
    def functions(self) -> list[Any]:
        return list(self.nodes(*Functions.__args__))

    def once_used(self) -> list[Any]:
        """Functions with an underscore whose name stands in one place beside their own."""
        names = Counter(node.id for node in self.nodes(ast.Name))
        names.update(node.attr for node in self.nodes(ast.Attribute))
        private = [f for f in self.functions if f.name.startswith("_") and f.name[-2:] != "__"]
        return [f for f in private if names[f.name] == 1]

    def members(self, *names: str) -> str:
        """Abstract, optional and other public members of the classes of these names, together."""
        found = [node for node in self.nodes(ast.ClassDef) if node.name in names]
        if not found:
            return "none of that name"
        bodies = [
            item
            for item in chain.from_iterable(node.body for node in found)
            if isinstance(item, Functions)
        ]
        kinds = Counter(map(_kind, bodies))
        return f"{kinds['abstract']} abstract, {kinds['hook']} hooks, {kinds['public']} others"


def _kind(item: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    decorators = {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in item.decorator_list}
    if "abstractmethod" in decorators:
        return "abstract"
    if decorators & {"hook", "promises"}:
        return "hook"
    return "private" if item.name.startswith("_") else "public"


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of which each imports each, perhaps by way of others."""
    groups = nx.strongly_connected_components(nx.DiGraph(graph))
    return sorted(sorted(group) for group in groups if len(group) > 1)


class Watch:
    """What the calls inside a block enter: files and functions of the house."""

    def __init__(self, root: Path) -> None:
        self.folders = tuple(f"{(root / folder).resolve()}/" for folder in PACKAGES)
        self.codes: set[CodeType] = set()
        self.depths: Counter[int] = Counter()
        self.boxes: dict[str, None] = {}
        self._way: list[FrameType] = []
        self._of_house: dict[CodeType, bool] = {}

    @property
    def entered(self) -> str:
        files = {Path(code.co_filename).resolve() for code in self.codes}
        return f"{len(files)} / {len(self.codes)}"

    def __enter__(self) -> Watch:
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _mine(self, code: CodeType) -> bool:
        if code not in self._of_house:
            path = str(Path(code.co_filename).resolve())
            named = not code.co_name.startswith("<")
            self._of_house[code] = named and path.startswith(self.folders)
        return self._of_house[code]

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call" and self._mine(frame.f_code):
            self.codes.add(frame.f_code)
            if self._is_oracle(frame):
                self._ask([f for f in _stack(frame) if self._mine(f.f_code)])
        elif event == "return" and self._way and frame is self._way[0]:
            self._way.pop(0)
            self.boxes |= dict.fromkeys(_boxes(value))

    def _ask(self, stack: list[FrameType]) -> None:
        """Count the frames between ``fit`` and an oracle, and follow the first answer back."""
        names = [frame.f_code.co_name for frame in stack]
        if "fit" in names and not any(map(self._is_oracle, stack[1:])):
            self.depths[names.index("fit") + 1] += 1
            if "iterate" in names and not self.boxes:  # the loop of a solver
                self._way = stack[: names.index("iterate")]

    def _is_oracle(self, frame: FrameType) -> bool:
        """Whether a method of an oracle begins that looks for a maximum."""
        owner = frame.f_locals.get("self")
        bases = {base.__name__ for base in type(owner).__mro__}
        return "Oracle" in bases and "maxim" in frame.f_code.co_name


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _boxes(value: Any) -> Iterator[str]:
    """Classes of the house in what a function returns, those inside of lists and tuples too."""
    if type(value).__module__.startswith("structsvm"):
        yield type(value).__name__
    if type(value) in (list, tuple):
        for one in value[:3]:
            yield from _boxes(one)


def measured(root: Path) -> Iterator[tuple[str, object]]:
    """What small calls enter, the second time they are made."""
    from structsvm import ChangePoint, MetricLearner
    from structsvm.datasets import relevant_changes
    from structsvm.io import arrays_and_labels

    Xs, ys = arrays_and_labels(
        relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    )
    learner = MetricLearner(ChangePoint()).fit(Xs, ys)
    learner.predict(Xs[:1])
    with Watch(root) as fit:
        MetricLearner(ChangePoint()).fit(Xs, ys)
    with Watch(root) as predict:
        learner.predict(Xs[:1])
    yield "files / functions entered by MetricLearner.fit", fit.entered
    yield "the same by predict of one recording", predict.entered
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder, "in"), Xs, ys)
        command = ["fit", "change-point", f"{folder}/in", "-o", f"{folder}/m.structsvm"]
        command_line(command)
        Path(f"{folder}/m.structsvm").unlink(missing_ok=True)
        with Watch(root) as typed:
            said = command_line(command)
        written = Path(f"{folder}/m.structsvm").exists()
    yield "the same by structsvm fit change-point FOLDER", typed.entered if written else said
    depths = ", ".join(f"{depth} ({times} times)" for depth, times in fit.depths.most_common())
    yield "frames from fit to the oracle", depths
    yield "containers on the way back", f"{len(fit.boxes)}: {', '.join(fit.boxes)}"
    yield "public methods and properties of MetricLearner", len(list(_public(MetricLearner)))


def _public(owner: type) -> Iterator[str]:
    """Public methods and properties that classes of the house define."""
    own = [base for base in owner.__mro__ if base.__module__.startswith("structsvm")]
    for name in sorted(set(chain.from_iterable(vars(base) for base in own))):
        value = getattr(owner, name, None)
        is_own = not (name.startswith("_") or re.fullmatch("set_.*_request", name))
        if is_own and (callable(value) or isinstance(value, property)):
            yield name


def _write(folder: Path, Xs: Iterable[Any], ys: Iterable[Any]) -> None:
    folder.mkdir()
    for i, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        rows = [",".join([*map(str, row), str(k)]) for row, k in zip(X, y, strict=True)]
        (folder / f"r{i}.csv").write_text("\n".join(["a,b,c,d,label", *rows]) + "\n")


def command_line(arguments: list[str]) -> str:
    """What a command prints, run in this process."""
    before = sys.argv
    printed = io.StringIO()
    sys.argv = ["structsvm", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            runpy.run_module("structsvm", run_name="__main__")
    except SystemExit:
        pass
    finally:
        sys.argv = before
    return printed.getvalue()


def options() -> Iterator[tuple[str, int]]:
    """The options of each command, as its help lists them."""
    listed = command_line(["--help"]).partition("commands:")[2].partition("examples:")[0]
    for command in re.findall(r"^ {4}([a-z][a-z-]*)(?: |$)", listed, flags=re.MULTILINE):
        text = command_line([command, "--help"])
        names = set(re.findall(r"^ {2,4}(?:-\w(?: \S+)?, )?(--[a-z][a-z-]*)", text, re.MULTILINE))
        yield command, len(names - {"--help"})


def counted(house: House) -> Iterator[tuple[str, object]]:
    """What is read off the source."""
    for name in CONTRACTS:
        yield f"members of {name}", house.members(name)
    lines = sum((module.lines() for module in house.modules.values()), Counter())
    total = sum(lines.values())
    yield "lines", f"{total}: " + ", ".join(f"{lines[k]} {k}" for k in sorted(lines))
    yield "raise statements", len([node for node in house.nodes(ast.Raise) if node.exc])
    single = [f for f in house.functions if len([s for s in f.body if not _is_text(s)]) == 1]
    yield "functions / of one statement", f"{len(house.functions)} / {len(single)}"
    once = house.once_used()
    share = sum(f.end_lineno - f.lineno + 1 for f in once) / total
    yield "private functions named in one place", f"{len(once)} ({share:.0%} of the lines)"
    later = [i for i in chain.from_iterable(m.imports for m in house.modules.values()) if i.later]
    yield "imports inside functions or under TYPE_CHECKING", len(later)
    rooms = house.graph(house.room)
    yield "rooms / arrows between them", f"{len(rooms)} / {sum(map(len, rooms.values()))}"
    yield "floors", len(_constant(house.root / "tests" / "test_architecture.py", "FLOORS"))
    for graph, kind in ((rooms, "rooms"), (house.graph(), "modules")):
        found = circles(graph)
        yield f"circles of {kind} (all imports)", "; ".join(" - ".join(c) for c in found) or "none"


def _constant(path: Path, name: str) -> Any:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return ()


def by_room(house: House) -> Iterator[tuple[str, Counter[str]]]:
    found: dict[str, Counter[str]] = {}
    for module in house.modules.values():
        found.setdefault(module.room, Counter()).update(module.lines())
    yield from sorted(found.items(), key=lambda item: -sum(item[1].values()))


def main() -> None:
    """Print all of it."""
    package = importlib.import_module("structsvm")
    assert package.__file__ is not None
    root = Path(package.__file__).resolve().parents[1]
    house = House(root)
    warnings.simplefilter("ignore")
    for name, value in (*counted(house), *measured(root)):
        print(f"{name:52} {value}")
    each = dict(options())
    print(f"{'options':52} {sum(each.values())}: {', '.join(f'{n} {c}' for n, c in each.items())}")
    print(f"\n{'room':20} {'lines':>7} {'code':>7} {'docs':>7} {'comment':>7} {'blank':>7}")
    for room, kinds in by_room(house):
        row = [sum(kinds.values()), *(kinds[k] for k in ("code", "docstring", "comment", "blank"))]
        print(f"{room:20} " + " ".join(f"{number:7}" for number in row))


if __name__ == "__main__":
    main()
