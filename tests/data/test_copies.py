"""Copies of recordings count once, and equal differences are no certainty."""

import json

import numpy as np
import pytest
from recording_cases import changes
from sklearn.neighbors import KNeighborsClassifier

from structsvm import DataError, MetricLearner, MetricLearnerCV, evaluate
from structsvm.features import StateScores

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(n, seed=0):
    return changes(n, n_features=8, random_state=seed)


def repeated(data, numbers):
    """Copies of the arrays, not the arrays themselves."""
    return tuple([np.array(part[i]) for i in numbers] for part in data)


def search(data, **settings):
    candidates = ("untrained", "rca", "diagonal")
    learner = MetricLearnerCV(candidates=candidates, lams=(0.2, 0.02), random_state=0)
    return learner.fit(*data, **settings)


@pytest.fixture(scope="module")
def learner():
    data = recordings(6)
    return MetricLearner(metric="diagonal").fit(*data, baselines="quick")


def test_six_copies_of_one_recording_are_too_few_to_tell():
    verdict = search(repeated(recordings(1), [0] * 6)).verdict_
    assert str(verdict).startswith("Too few to tell: 1 independent recording cannot support")
    assert "On 1 recording, each held out once (copies not counted: 5)," in str(verdict)
    assert "interval" not in str(verdict)
    assert (verdict.untrained.n, verdict.untrained.units, verdict.evidence.copies) == (1, 1, 5)
    assert not verdict.pays


def test_copies_are_held_out_together_and_count_once():
    data = recordings(6)
    twice = [0, 1, 2, 3, 4, 5, 0, 0, 3]
    found = search(repeated(data, twice))
    folds = found.fold_
    assert folds[0] == folds[6] == folds[7]
    assert folds[3] == folds[8]
    verdict = found.verdict_
    assert (verdict.untrained.n, verdict.untrained.units, verdict.evidence.copies) == (6, 6, 3)
    assert "6 recordings, each held out once (copies not counted: 3)" in str(verdict)
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert plain["copies"] == 3


def test_an_evaluation_is_the_same_with_copies(learner):
    data = recordings(5, seed=1)
    once = evaluate(learner, *data)
    more = evaluate(learner, *repeated(data, [0, 1, 2, 3, 4, 4, 4, 0]))
    assert more.verdict.evidence.copies == 3
    assert once.verdict.evidence.copies == 0
    assert "copies" not in str(once.verdict)
    assert "5 held-out recordings (copies not counted: 3)" in str(more.verdict)
    for name, contrast in once.verdict.contrasts.items():
        again = more.verdict.contrasts[name]
        assert again.mean == pytest.approx(contrast.mean)
        assert again.se == pytest.approx(contrast.se)
        assert (again.n, again.units) == (contrast.n, contrast.units)
        assert (again.won, again.lost) == (contrast.won, contrast.lost)
    assert len(more.instances) == 8


def test_scores_of_copies_are_by_a_classifier_that_has_seen_none_of_them():
    """The nearest neighbour of a sample is in the copy, of which it knows the name."""
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(60, 2)) for _ in range(6)]
    ys = [np.repeat(rng.permutation(["a", "b", "c"]), 20) for _ in range(6)]
    twice = [*range(6), *range(6)]
    copied = repeated((Xs, ys), twice)
    scores = StateScores(KNeighborsClassifier(1), lags=(0,))
    found = scores.fit_transform(*copied)
    named = [scores.classes_[F.argmax(axis=1)] for F in found]
    right = np.mean([names == y for names, y in zip(named, copied[1], strict=True)])
    assert 0.25 < right < 0.45
    people = [i // 2 for i in twice]  # of different groups, too
    people[6:] = [k + 3 for k in people[6:]]
    again = scores.fit_transform(*copied, people)
    named = [scores.classes_[F.argmax(axis=1)] for F in again]
    assert np.mean([names == y for names, y in zip(named, copied[1], strict=True)]) < 0.45
    assert len(scores.fit_transform(Xs[:1] * 3, ys[:1] * 3)) == 3  # nothing else to hold out
    copied[1][0][:5] = copied[1][6][:5] = "d"
    with pytest.raises(DataError, match="d only in recording 0"):
        scores.fit_transform(*copied)
