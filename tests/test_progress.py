"""How far work has come: who tells, who listens, and how long is left."""

import pytest

from structsvm import MetricLearner
from structsvm.cli import terminal
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.support.progress import stage, tell, watching

XS, YS = arrays_and_labels(
    relevant_changes(3, n_samples=200, n_features=4, n_relevant=2, random_state=0)
)


def heard():
    """Return a list, and a function that notes down in it what it is told."""
    notes = []
    return notes, lambda words, part: notes.append((words, part))


def test_nobody_needs_to_listen():
    tell("working", 0.5)
    assert list(stage("counting", [1, 2])) == [1, 2]


def test_shares_add_up():
    notes, watcher = heard()
    with watching(watcher):
        for _ in stage("files", "ab"):
            for _ in stage("lines", range(2)):
                tell("word", 0.5)
    assert notes == [
        ("files", 0.0),
        ("files: lines", 0.0),
        ("files: lines: word", 0.125),
        ("files: lines", 0.25),
        ("files: lines: word", 0.375),
        ("files", 0.5),
        ("files: lines", 0.5),
        ("files: lines: word", 0.625),
        ("files: lines", 0.75),
        ("files: lines: word", 0.875),
    ]
    tell("to nobody", 1.0)
    assert len(notes) == 10


def test_a_stage_that_is_left_early_is_over():
    notes, watcher = heard()
    with watching(watcher):
        for _ in stage("files", range(4)):
            break
        tell("after", 0.5)
    with watching(watcher), pytest.raises(ZeroDivisionError):
        _ = [1 // 0 for _ in stage("files", range(4))]
    tell("to nobody", 1.0)
    assert notes[-1] == ("files", 0.0)
    assert ("after", 0.5) in notes


def test_learning_tells_and_ends_where_it_should():
    notes, watcher = heard()
    with watching(watcher):
        MetricLearner(metric="diagonal").fit(XS, YS)
    innermost = [words.rpartition(": ")[2].split(" ")[0] for words, _ in notes]
    tasks = [task for task in dict.fromkeys(innermost) if task in ("calibrating", "iteration")]
    assert tasks == ["calibrating", "iteration"]
    parts = [part for _, part in notes]
    assert parts == sorted(parts)
    assert notes[-1][0].endswith(": calibrating the penalty")


def test_baselines_are_told_of_in_the_same_course():
    notes, watcher = heard()
    with watching(watcher):
        MetricLearner(metric="diagonal").fit(XS, YS, baselines="quick")
    parts = [part for _, part in notes]
    assert parts == sorted(parts)
    assert "tuning baselines" in {words.partition(":")[0] for words, _ in notes}


class TestTerminal:
    def test_lines_where_nothing_can_be_animated(self, monkeypatch, capsys):
        monkeypatch.setattr(terminal, "SECONDS_UNTIL_FIRST_LINE", 0.0)
        monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0.0)
        with terminal.Terminal().working("learning [a]"):
            tell("iteration 1", 0.5)
        assert "learning [a]: iteration 1, 50%\n" in capsys.readouterr().err

    def test_a_task_within_one_of_the_same_name_is_named_once(self, monkeypatch, capsys):
        monkeypatch.setattr(terminal, "SECONDS_UNTIL_FIRST_LINE", 0.0)
        with terminal.Terminal().working("partitioning"):
            tell("partitioning", 0.5)
        assert capsys.readouterr().err.splitlines()[-1] == "partitioning, 50%"

    def test_a_short_task_says_nothing(self, capsys):
        with terminal.Terminal().working("learning"):
            tell("iteration 1", 0.5)
        assert capsys.readouterr().err == ""

    def test_quiet(self, monkeypatch, capsys):
        monkeypatch.setattr(terminal, "SECONDS_UNTIL_FIRST_LINE", 0.0)
        with terminal.Terminal(quiet=True).working("learning"):
            tell("iteration 1", 0.5)
        assert capsys.readouterr().err == ""

    def test_animated(self):
        from io import StringIO

        from rich.console import Console

        screen = StringIO()
        console = Console(file=screen, force_terminal=True, width=100)
        with terminal.Terminal(err=console).working("learning [a]"):
            tell("iteration 1", 0.5)
            console.print("done")
        assert "learning [a]: iteration 1" in screen.getvalue()


def test_a_stage_that_an_error_left_behind_tells_nothing_of_later_work():
    heard = []
    with watching(lambda words, part: heard.append(words)):
        left_behind = stage("earlier", [1, 2])
        next(left_behind)
    n = len(heard)
    left_behind.close()  # as when its memory is freed
    assert list(stage("later", [1])) == [1]
    tell("later", 0.5)
    assert len(heard) == n
    now = []
    with watching(lambda words, part: now.append(words)):
        tell("now", 0.5)
    assert now == ["now"]
