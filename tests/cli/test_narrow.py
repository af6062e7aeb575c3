"""What commands print fits into a terminal of 80 columns, and speaks of commands."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from structsvm.cli import terminal
from structsvm.cli.evaluate import score_table
from structsvm.cli.terminal import Clock
from structsvm.data.words import RECORDINGS
from structsvm.evaluation.evaluate import Evaluation, SampleScores
from structsvm.evaluation.verdict import LEARNED, Verdict

SCORES = ("loss", "covering", "adjusted_rand", "f1", "accuracy", "macro F1")
RIVALS = ("untrained", "nearest-centroid", "boundary-boosting", "boundary-logistic", LEARNED)


@pytest.fixture
def six() -> Evaluation:
    """Return six scores of the metrics of longest names; of the rivals, the second is best."""
    found = {
        name: {score: (10.0 if score == "loss" else 0.5) for score in SCORES} for name in RIVALS
    }
    found["nearest-centroid"] = {s: (9.0 if s == "loss" else 0.75) for s in SCORES}
    return Evaluation((SampleScores("a", 3, found),), tolerance=5)


def printed(table, **settings) -> list[str]:
    console = Console(file=io.StringIO(), **settings)
    console.print(table)
    return console.file.getvalue().splitlines()


def test_six_scores_fit_into_80_columns(six):
    lines = printed(score_table(six), width=80)
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if ".000" in line]
    assert [row[0] for row in rows] == list(RIVALS)
    assert {len(row) for row in rows} == {7}


def test_the_best_of_each_score_is_bold_whoever_has_it(six):
    lines = printed(score_table(six), width=80, force_terminal=True, color_system="standard")
    rows = [line for line in lines if ".000" in line]
    assert [line.count("\x1b[1m") for line in rows] == [0, 6, 0, 0, 0]


def test_what_is_no_terminal_is_not_wrapped_unless_columns_says_so(run, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    whole = len(head_of_scores(run))
    assert whole > 40
    monkeypatch.setenv("COLUMNS", str(whole - 2))
    assert len(head_of_scores(run)) == whole - 2


def head_of_scores(run) -> str:
    """Return the first line of the table of scores."""
    code, out, _ = run("evaluate m.structsvm test")
    assert code == 0
    (head,) = (line for line in out.splitlines() if line.lstrip().startswith("metric"))
    return head


def test_a_verdict_says_how_to_use_a_rival_where_it_is_read():
    ours = np.linspace(1.0, 2.0, 12)
    losses = {LEARNED: ours, "untrained": ours + 0.1 * np.resize([1.0, -1.0], 12)}
    verdict = replace(Verdict.of(losses, RECORDINGS, "loss"), best="untrained")
    assert str(verdict).endswith(" predict(..., use='best') uses the untrained metric.")
    typed = replace(verdict, way="structsvm predict m NEW --rival")
    assert str(typed).endswith(
        " structsvm predict m NEW --rival untrained uses the untrained metric."
    )
    assert typed.to_dict()["sentence"] == str(typed)


def test_equal_losses_are_called_equal():
    verdict = Verdict.of({LEARNED: np.ones(6), "untrained": np.ones(6)}, RECORDINGS, "loss")
    said = "the loss of the learned metric is 1: the same as that of the untrained metric on each"
    assert said in str(verdict)


def test_the_time_left_of_one_part_is_that_of_the_whole(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    clock = Clock()
    assert clock.left(0.0) == ""
    now[0] = 30.0
    assert clock.left(0.75 * 1.0) == "about 10 s left"  # the first part is done
    now[0] = 36.0
    assert clock.left(0.75 + 0.25 * 0.6) == "about 4 s left"
