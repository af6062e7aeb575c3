"""Rules of the architecture: which package imports which, and which classes answer themselves."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

from house import House, circles

from structsvm.support.contract import hooks_of

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. A room may import from its own floor and from those below it.
FLOORS = (
    {"errors", "support"},
    {"problem", "regularizers", "status", "weights"},  # the others are names of the first
    {"masters", "parallel"},
    {"solvers"},
    {"data", "features", "graphs", "partial_labels", "partitions", "training_labels"},
    {"oracles"},
    {"problems"},
    {"learner", "modeling"},
    {"baselines", "datasets", "evaluation", "interop", "io", "testing"},
    {"model_selection"},
    {"diagnosis"},
    {"labelling", "plotting"},
    {"__init__", "__main__", "cli"},
)
FLOOR_OF: dict[str, int] = {}
for _floor, _rooms in enumerate(FLOORS):
    FLOOR_OF |= dict.fromkeys(_rooms, _floor)

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


@cache
def the_house() -> House:
    """Read when a test asks, and not by every process that collects tests."""
    return House(ROOT)


def test_every_module_has_a_floor() -> None:
    assert {"structsvm", "structsvm.oracles", "structsvm.problems"} <= the_house().modules.keys()
    strangers = sorted(m.name for m in the_house().modules.values() if m.room not in FLOOR_OF)
    assert not strangers, f"give these modules a floor in FLOORS and in docs: {strangers}"


def test_imports_lead_to_the_same_or_lower_floors() -> None:
    wrong = []
    for module in the_house().modules.values():
        for found in module.imports:
            floor = FLOOR_OF.get(the_house().room(the_house().module_of(found.target)), -1)
            if floor > FLOOR_OF[module.room]:
                wrong.append(f"{module.path}:{found.line}: {module.room} imports {found.target}")
    assert not wrong, "\n".join(["a lower floor imports a higher one:", *wrong])


def test_rooms_and_modules_do_not_import_in_circles() -> None:
    """Imports inside functions and under TYPE_CHECKING count too: they hide who needs whom."""
    assert not circles(the_house().graph(the_house().room))
    assert not circles(the_house().graph())


def test_no_comprehension_has_two_loops() -> None:
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    of_house = ((module.path, module.nodes) for module in the_house().modules.values())
    of_tests = (
        (path, ast.walk(ast.parse(path.read_bytes()))) for path in ROOT.glob("tests/**/*.py")
    )
    wrong = []
    for path, all_nodes in chain(of_house, of_tests):
        nodes = [node for node in all_nodes if isinstance(node, kinds)]
        wrong += [f"{path}:{node.lineno}" for node in nodes if len(node.generators) > 1]
    assert not wrong, "\n".join(["write a loop, a chain or a product:", *wrong])


def test_other_rooms_import_from_the_face_of_a_room() -> None:
    """What the ``__init__.pyi`` of a room lists, other rooms import from there."""
    home = {}
    for stub in ROOT.glob("structsvm/*/__init__.pyi"):
        face = f"structsvm.{stub.parent.name}"
        for node in ast.parse(stub.read_text()).body:
            assert isinstance(node, ast.ImportFrom)
            if (node.module or "").startswith(f"{face}."):
                home |= {f"{node.module}.{alias.name}": face for alias in node.names}
    wrong = []
    for module in the_house().modules.values():
        for found in module.imports:
            face = home.get(found.target, "")
            if face and not f"{module.name}.".startswith(f"{face}."):
                wrong.append(f"{module.path}:{found.line}: {found.target} is in {face}")
    assert not wrong, "\n".join(["import from the face of the room:", *wrong])


def test_imports_are_absolute_and_oracles_and_problems_have_one_name() -> None:
    wrong = [
        ast.unparse(node)
        for node in the_house().nodes(ast.ImportFrom)
        if node.level or node.module.split(".")[0] in {"oracles", "problems"}
    ]
    assert not wrong


def test_only_its_own_room_asks_whether_something_is_a_learner_or_a_problem() -> None:
    home = {}
    for module in the_house().modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and node.name in ASKED_AT_HOME:
                home[node.name] = module.room
    assert home.keys() == ASKED_AT_HOME
    wrong = []
    for module in the_house().modules.values():
        for call in module.nodes:
            if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance"):
                continue
            names = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
            if any(module.room not in (home[name], *DOORS) for name in names & home.keys()):
                wrong.append(f"{module.path}:{call.lineno}: {ast.unparse(call)}")
    assert not wrong, "\n".join(["let the learner or the problem answer for itself:", *wrong])


def test_a_class_is_abstract_or_final() -> None:
    """No method overrides a concrete method of another class of the project, but for hooks."""
    wrong = []
    for cls in classes():
        for base in cls.__mro__[1:]:
            is_ours = base.__module__.startswith("structsvm.")
            if is_ours and not getattr(base, "_is_protocol", False):
                names = methods(cls) & methods(base) - hooks_of(base)
                wrong += [
                    f"{cls.__qualname__}.{n} overrides {base.__qualname__}.{n}" for n in names
                ]
    assert not wrong, "\n".join(["a concrete method is overridden:", *wrong])


def classes() -> Iterator[type]:
    for name in the_house().modules:
        if not name.endswith("__main__"):
            found = vars(import_module(name)).values()
            yield from (c for c in found if inspect.isclass(c) and c.__module__ == name)


def methods(cls: type) -> set[str]:
    """The methods and properties that a class defines in its source, not those that are made."""
    found = {}
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        if inspect.isfunction(function):
            found[name] = inspect.unwrap(function).__code__.co_filename
    return {name for name, file in found.items() if file == inspect.getfile(cls)}
