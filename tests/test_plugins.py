"""Problems by name."""

import pytest

from structsvm import ChangePoint
from structsvm.errors import PluginError
from structsvm.partitions.problem import PartitionProblem
from structsvm.plugins import problem_class, problem_name, problem_names


class Entry:
    """An entry point of another distribution."""

    def __init__(self, found):
        self.name, self.value, self.found = "theirs", "their.module:Thing", found

    def load(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class NoDataclass(PartitionProblem):
    """Lacks settings that could be stored."""


def test_every_declared_problem_is_one() -> None:
    assert "change-point" in problem_names()
    for name in problem_names():
        assert issubclass(problem_class(name), PartitionProblem)
    assert problem_name(ChangePoint()) == "change-point"


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PluginError, match=r"no problem is called 'spam'; installed are .*change-p"):
        problem_class("spam")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (ImportError("no module named their"), "'theirs' cannot be loaded: no module named their"),
        (int, r"'theirs' \(their.module:Thing\) is no PartitionProblem"),
        (ChangePoint(), "is no PartitionProblem"),
        (NoDataclass, "must be a frozen dataclass"),
    ],
)
def test_what_is_no_problem_is_refused(monkeypatch, found, message) -> None:
    monkeypatch.setattr("structsvm.plugins.entry_points", lambda group: [Entry(found)])
    with pytest.raises(PluginError, match=message):
        problem_class("theirs")
    with pytest.raises(PluginError, match="ChangePoint has no name"):
        problem_name(ChangePoint())
