"""Verdicts speak of commands where they are read."""

from dataclasses import replace

import numpy as np

from structsvm.data.words import RECORDINGS
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.verdict import Verdict


def test_a_verdict_says_how_to_use_a_baseline_where_it_is_read():
    ours = np.linspace(1.0, 2.0, 12)
    losses = {LEARNED: ours, "untrained": ours + 0.1 * np.resize([1.0, -1.0], 12)}
    verdict = replace(Verdict.of(losses, RECORDINGS, "loss"), best="untrained")
    assert str(verdict).endswith(" choose_from='all' uses the untrained metric.")
    typed = replace(verdict, way="structsvm predict m NEW --baseline")
    assert str(typed).endswith(
        " structsvm predict m NEW --baseline untrained uses the untrained metric."
    )
    assert typed.to_dict()["sentence"] == str(typed)


def test_equal_losses_are_called_equal():
    verdict = Verdict.of({LEARNED: np.ones(6), "untrained": np.ones(6)}, RECORDINGS, "loss")
    said = "the loss of the learned metric is 1: the same as that of the untrained metric on each"
    assert said in str(verdict)
