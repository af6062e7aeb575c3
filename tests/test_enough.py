"""When a classifier does as well as the learned metric, the verdict says so."""

import json

import numpy as np
import pytest

from structsvm.evaluation.contrast import Contrast
from structsvm.evaluation.evaluate import Evaluation, SampleScores
from structsvm.evaluation.verdict import Verdict
from structsvm.partitions.comparison import BLIND

NOISE = np.array([0.3, -0.3, 0.2, -0.2, 0.1, -0.1])
BAD, FAR = 3 + NOISE, 2 + NOISE
FRAMES, WHO = "frame-boosting", "a frame classifier (boosting)"


def judged(classifiers=(FRAMES,), **losses):
    """An evaluation with these losses of each metric, by recording."""
    found = {"learned": 1 + 0 * NOISE, "untrained": BAD, **losses}

    def scores(loss):
        return {"loss": loss, "adjusted_rand": 0.5, "disagreement": loss}

    rows = [
        SampleScores(str(i), 3, {name: scores(row[i]) for name, row in found.items()})
        for i in range(NOISE.size)
    ]
    return Evaluation(tuple(rows), tolerance=5, classifiers=frozenset(classifiers)).verdict


@pytest.mark.parametrize(
    ("frames", "rca", "but"),
    [
        (1 + NOISE, BAD, f"{WHO} does as well: use it"),
        (0.5 + NOISE / 2, BAD, f"{WHO} does better: use it"),
        (1.2 + NOISE, BAD, f"{WHO} may do as well"),
        (FAR, BAD, ""),
        (1 + NOISE, 0.9 + NOISE, f"{WHO} does as well: use it"),
        (1 + NOISE, 0.4 + NOISE / 9, "RCA pays more"),
        (FAR, 1 + NOISE, "RCA may do as well"),
    ],
)
def test_a_classifier_that_does_as_well_is_to_be_used(frames, rca, but):
    verdict = judged(**{FRAMES: frames}, rca=rca)
    assert verdict.answer == (f"Learning pays, but {but}." if but else "Learning pays.")
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert plain["use"] == (FRAMES if "use it" in but else None)
    assert plain["sentence"] == str(verdict)
    if WHO in but:
        assert f"than that of {WHO} (95 % interval of the gain" in str(verdict)


@pytest.mark.parametrize(
    ("untrained", "said"),
    [
        (1 + NOISE, "There is no evidence that learning pays: the difference may be chance."),
        (0.7 + NOISE / 3, "Learning harms."),
    ],
)
def test_where_learning_does_not_pay_a_better_classifier_is_named_too(untrained, said):
    better = judged(untrained=untrained, **{FRAMES: 0.4 + NOISE / 3})
    assert better.answer == f"{said} A frame classifier (boosting) does better: use it."
    assert judged(untrained=untrained, **{FRAMES: 1 + NOISE}).answer == said


@pytest.mark.parametrize("equal", [1 + NOISE, 0.6 + NOISE / 9])
def test_learning_does_not_pay_where_segments_of_one_length_do_as_well(equal):
    """A classifier that does better does not make it pay."""
    losses = {"equal-segments": equal, FRAMES: 0.4 + NOISE / 9}
    verdict = judged(("equal-segments", FRAMES), **losses)
    assert not verdict.pays
    said = "There is no evidence that learning pays: segments of equal length may do as well."
    assert verdict.answer == f"{said} A frame classifier (boosting) does better: use it."
    assert verdict.use == FRAMES


def test_a_baseline_of_ones_own_is_named_as_one_names_it():
    verdict = judged(("my forest",), **{"my forest": 1 + NOISE})
    assert verdict.answer == "Learning pays, but my forest does as well: use it."


@pytest.mark.parametrize("best", [FRAMES, "frame-logistic", "full", "untrained"])
@pytest.mark.parametrize("untrained", [2 + NOISE, NOISE])
def test_words_and_json_name_one_classifier_to_use(best, untrained):
    """The choice may fall on another classifier than the one of least loss."""
    units = np.arange(6)
    gains = {"untrained": untrained, FRAMES: NOISE / 9 - 0.5, "frame-logistic": NOISE - 0.1}
    contrasts = {name: Contrast.of(name, gain, units) for name, gain in gains.items()}
    verdict = Verdict.against(contrasts, {FRAMES, "frame-logistic"}, loss=1.0, best=best)
    assert verdict.answer.endswith(f"{WHO[2:]} does better: use it.")
    assert verdict.to_dict()["use"] == FRAMES
    way = "choose_from='all'" if best == FRAMES else f"partition_with('{FRAMES}', ...)"
    assert verdict.found.endswith(f" {way} uses {WHO}.")
    assert "choose_from='all' uses" not in verdict.found or best == FRAMES


def test_the_best_of_many_baselines_is_no_better_by_chance_than_a_single_one():
    """Six classifiers that are exactly as good as the metric, on twelve recordings."""
    rng, draws, n = np.random.default_rng(0), 500, 12
    names = [f"classifier {k}" for k in range(6)]
    better = held = 0
    for _ in range(draws):
        gains = {name: rng.normal(size=n) for name in ["untrained", *names]}
        gains["untrained"] += 3.0
        contrasts = {name: Contrast.of(name, gain, np.arange(n)) for name, gain in gains.items()}
        verdict = Verdict.against(contrasts, names, loss=1.0)
        better += "does better" in verdict.answer
        held += verdict.baseline.low <= 0 <= verdict.baseline.high
        assert verdict.untrained == contrasts["untrained"]
        assert {c.low for c in contrasts.values()} == {c.low for c in verdict.contrasts.values()}
    assert better / draws < 0.04
    assert held / draws > 0.94


def test_a_small_gain_on_most_recordings_is_told_and_not_taken_for_none():
    gains = np.r_[np.full(21, 0.05), np.full(5, -1.0)] + np.linspace(0, 0.01, 26)
    verdict = Verdict.against({"untrained": Contrast.of("untrained", gains, np.arange(26))}, loss=1)
    assert (verdict.code, verdict.pays) == ("mostly", False)
    assert "on 21 of 26 recordings, which chance does in 0.2% of cases" in verdict.answer


def test_nothing_is_to_be_labelled_where_every_loss_is_zero():
    none = Contrast.of("untrained", np.zeros(9), np.arange(9))
    verdict = Verdict.against({"untrained": none}, loss=0.0, best="untrained")
    assert verdict.answer == "Nothing is left to learn: every method has the loss 0."
    assert "Label more" not in str(verdict)


@pytest.mark.parametrize("blind", sorted(BLIND))
def test_what_is_blind_to_the_samples_is_to_be_beaten(blind):
    assert judged((blind,), **{blind: 1 + NOISE}).code == "blind"
    assert judged((blind,), **{blind: FAR}).pays
