"""Verdicts: the code that follows from the figures, sentences and JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cases import cases

from structsvm.data.words import RECORDINGS
from structsvm.evaluation.advice import Ranking
from structsvm.evaluation.contrast import LEARNED, Contrast, chosen
from structsvm.evaluation.sentences import ANSWERS, baseline_in_words
from structsvm.evaluation.verdict import Evidence, Verdict
from structsvm.learner.methods import BLIND

NOISE = np.array([0.3, -0.3, 0.2, -0.2, 0.1, -0.1])
OURS = 1 + 0 * NOISE
BAD = 3 + NOISE
FAR = 2 + NOISE
FRAMES, WHO = "frame-boosting", "a frame classifier (boosting)"


def judged(losses=None, units=None, best=None, accuracies=None, **evidence):
    """The verdict by these losses of each baseline, where those of the metric are 1."""
    losses = {"untrained": BAD} | (losses or {})
    units = np.arange(NOISE.size) if units is None else units
    losses[LEARNED] = np.ones(units.size)
    about = {"best": best, "accuracies": accuracies, "evidence": Evidence(**evidence)}
    return Verdict.of(losses, units, np.arange(units.size), **about)


@cases(
    ({}, "pays", None),
    ({FRAMES: FAR, "rca": BAD}, "pays", None),
    ({FRAMES: 0.9 + NOISE}, "pays-level", FRAMES),
    ({FRAMES: 0.5 + NOISE / 2}, "pays-less", FRAMES),
    ({FRAMES: 1.2 + NOISE}, "pays-level", None),
    ({FRAMES: 1 + NOISE, "rca": 0.9 + NOISE}, "pays-level", "rca"),
    ({FRAMES: 1 + NOISE, "rca": 0.4 + NOISE / 9}, "pays-less", "rca"),
    ({FRAMES: FAR, "rca": 1.1 + NOISE, "pca": BAD}, "pays-level", None),
    ({"pca": 1.5 + 9 * NOISE, "rca": 1.4 + NOISE}, "pays-level", None),
    ({"my forest": 0.9 + NOISE}, "pays-level", "my forest"),
    ({"untrained": 1.1 + NOISE}, "chance", None),
    ({"untrained": 1.1 + NOISE, FRAMES: 0.4 + NOISE / 3}, "chance", FRAMES),
    ({"untrained": 0.7 + NOISE / 3, FRAMES: 1 + NOISE}, "harms", "untrained"),
    ({"untrained": 0.7 + NOISE / 3, FRAMES: 0.4 + NOISE / 3}, "harms", FRAMES),
    ({"equal-segments": 1 + NOISE, FRAMES: FAR}, "blind", None),
    ({"equal-segments": 0.6 + NOISE / 9, FRAMES: 0.4 + NOISE / 9}, "blind-metric", FRAMES),
    ({"one-part": 1.1 + NOISE, FRAMES: FAR}, "blind-metric", None),
    ({"untrained": 3 * OURS}, "constant", None),
)
def test_each_pattern_of_figures_has_its_code_and_answer(losses, code, use):
    verdict = judged(losses)
    assert (verdict.code, verdict.use) == (code, use)
    assert verdict.answer.startswith(ANSWERS[code].split("{")[0])
    method = baseline_in_words(use or LEARNED)
    assert f"Use {method}: of all methods it has the least loss, " in str(verdict)
    assert ("No method has a smaller loss than" in str(verdict)) == (code == "blind")
    assert verdict.pays == verdict.answer.startswith("Learning pays")
    assert verdict.harms == verdict.answer.startswith("Learning harms")
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert plain["sentence"] == str(verdict)
    assert plain["contrasts"].keys() == {"untrained", *losses}
    for who in (WHO, "RCA", "PCA"):
        assert who not in verdict.answer or f"than that of {who} (" in verdict.found


def test_answers_name_what_does_better():
    """The sentences of one verdict of each form."""
    level = judged({FRAMES: 0.9 + NOISE})
    assert level.answer == f"Learning pays, but {WHO} may do as well."
    assert level.advice == f"Use {WHO}: of all methods it has the least loss, 0.9."
    less = judged({FRAMES: 1 + NOISE, "rca": 0.4 + NOISE / 9}, cross_validated=True)
    assert less.answer == "Learning pays, but RCA does better."
    assert less.advice == "Use RCA: of all methods it has the least loss in cross-validation, 0.4."
    assert judged().advice == "Use the learned metric: of all methods it has the least loss, 1."
    blind = judged({"fixed-times": 0.9 + NOISE})
    assert blind.advice == (
        "Use the learned metric: of all methods that look at the recordings it has the least loss, "
        "1. No method has a smaller loss than the times of the training labels, 0.9: look for the "
        "cause with diagnose."
    )


@cases(
    (dict.fromkeys((LEARNED, FRAMES), 0.9) | {"rca": 0.8}, LEARNED),
    ({LEARNED: 0.7, FRAMES: 0.9, "rca": None}, FRAMES),
    ({FRAMES: 0.7}, FRAMES),
    ({}, LEARNED),
)
def test_the_advised_method_names_most_items_right_if_names_are_scored(accuracies, best):
    verdict = judged({FRAMES: 1.1 + NOISE, "rca": 1.2 + NOISE}, accuracies=accuracies)
    assert (verdict.use or LEARNED) == best
    assert ("names the most samples right, " in verdict.advice) == bool(accuracies)
    others = "The least loss is that of the learned metric, 1."
    assert (others in verdict.advice) == (best != LEARNED)


@cases(
    ({"states": 3 + NOISE, "one-part": 3 + NOISE, FRAMES: 3.2 + NOISE}, {}),
    ({"states": 3 + NOISE, "fixed-times": 3 + NOISE}, {"states": 0.9}),
    ({"states": 0.5 + NOISE, "one-part": 0.5 + NOISE}, {"states": 0.9, LEARNED: 0.8}),
)
def test_a_method_that_equals_a_blind_one_is_not_advised(losses, accuracies):
    assert judged(losses, accuracies=accuracies).use is None
    for units in (np.zeros(6, dtype=int), np.arange(6) // 2):
        assert judged(losses, units, accuracies=accuracies, grouped=True).use is None


def test_accuracies_below_the_most_frequent_name_do_not_decide():
    losses = {FRAMES: 1.1 + NOISE, "rca": 0.2 + NOISE, "most-frequent": 2.0 + NOISE}
    said = judged(losses, accuracies={FRAMES: 0.4, "rca": 0.3, "most-frequent": 0.4}).advice
    assert "Use RCA: of all methods it has the least loss" in said
    assert "No method names more samples right than the most frequent name alone." in said
    said = judged(losses, accuracies={FRAMES: 0.5, "rca": 0.3, "most-frequent": 0.4}).advice
    assert "it names the most samples right, 50%" in said


def test_too_few_recordings_still_get_advice():
    """A rival that ignores the recordings is told, though nothing is decided."""
    few = {
        name: np.array(values) for name, values in {"untrained": [3.0, 5], FRAMES: [2.0, 4]}.items()
    }
    verdict = judged({**few, "one-part": np.array([0.5, 1])}, np.arange(2))
    assert verdict.code == "too-few"
    assert verdict.advice == (
        "Use the learned metric: of all methods that look at the recordings it has the least loss, "
        "1. No method has a smaller loss than one single part, 0.75: look for the cause with "
        "diagnose."
    )


def test_recordings_without_changes_have_no_figures():
    nothing = dict.fromkeys((LEARNED, "untrained", "one-part"), np.full(7, np.nan))
    verdict = Verdict.of(nothing)
    assert verdict.code == "nothing-to-find"
    assert not verdict.is_supported
    assert (verdict.use, verdict.advice) == (None, "")
    assert "loss" not in str(verdict)
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["loss"] is plain["contrasts"]["untrained"]["mean"] is None


@pytest.mark.parametrize("code", ["blind", "pays"])
def test_a_verdict_may_take_its_advice_from_another_ranking(code):
    """No evidence in what was held out, where the cross-validation has some, is not that of all."""
    held_out = judged({"one-part": (0.9 if code == "blind" else 3) + NOISE})
    assert held_out.code == code
    others = judged({FRAMES: 0.5 + NOISE, "one-part": 2 + NOISE}, cross_validated=True)
    advised = held_out.advised_by(others.ranking)
    assert advised.code == ("blind-metric" if code == "blind" else code)
    assert advised.use == FRAMES
    assert (
        advised.advice
        == f"Use {WHO}: of all methods it has the least loss in cross-validation, 0.5."
    )
    assert advised.advised_by(others.ranking.among([])).use is None


@cases(
    ({FRAMES: 0.9}, {}, "its loss is 1 in cross-validation; that of {0}, 0.9, is less by what may"),
    ({FRAMES: 1.1}, {}, "of all methods it has the least loss in cross-validation, 1."),
    ({FRAMES: 1.1}, {LEARNED: 0.8, FRAMES: 0.9}, "names 80% of the samples right in cross-valid"),
    ({FRAMES: 0.9}, {LEARNED: 0.8, FRAMES: 0.7}, "names the most samples right in cross-validat"),
    ({FRAMES: 0.9}, {FRAMES: 0.9}, "For names use {0}: it names the most samples right in cross"),
    ({FRAMES: 0.9, "one-part": 0.9}, {}, "of all methods that look at the recordings it has"),
)
def test_the_chosen_method_is_advised_and_better_ones_are_mentioned(losses, accuracies, said):
    """Others may be better by chance, and what equals something blind is not told."""
    columns = {name: np.full(6, loss) for name, loss in losses.items()} | {LEARNED: OURS}
    ranking = Ranking.of(columns, np.ones(6), accuracies, True, None)
    advised = judged().advised_by(replace(ranking, is_chosen=True))
    assert advised.use is None
    assert advised.advice.startswith("Use the learned metric: ")
    assert said.format(WHO) in advised.advice
    assert ("The least loss is that of" in advised.advice) == (accuracies.get(FRAMES) == 0.7)


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_method_without_any_loss_is_not_taken_for_a_blind_one(level):
    """Where all recordings have the same changes, their times are right, as is a good method."""
    losses = {LEARNED: np.full(6, level), "fixed-times": np.full(6, level), FRAMES: 1 + NOISE}
    ranking = Ranking.of(losses, np.ones(6), {}, True, None)
    assert ranking.order[0] == (FRAMES if level else LEARNED)
    said = ranking.sentence(RECORDINGS, "loss", "the learned metric")
    assert ("look for the cause" in said) == bool(level)


@pytest.mark.parametrize("blind", sorted(BLIND))
def test_learning_pays_only_if_it_beats_blind_methods(blind):
    assert judged({blind: 1 + NOISE}).code == "blind"
    assert judged({blind: FAR}).pays


def test_a_small_gain_on_most_recordings_is_mentioned():
    gains = np.r_[np.full(21, 0.05), np.full(5, -1.0)] + np.linspace(0, 0.01, 26)
    verdict = judged({"untrained": 1 + gains}, units=np.arange(26))
    assert (verdict.code, verdict.pays) == ("mostly", False)
    assert "on 21 of 26 recordings, which chance does in 0.2% of cases" in verdict.answer


@pytest.mark.parametrize("best", [FRAMES, "frame-logistic", "full", "untrained"])
@pytest.mark.parametrize("untrained", [BAD, 1 + NOISE])
def test_the_sentence_and_the_json_advise_the_same_classifier(best, untrained):
    """The choice may fall on another classifier than the one of least loss."""
    losses = {"untrained": untrained, FRAMES: 0.5 + NOISE / 9, "frame-logistic": 0.9 + NOISE}
    verdict = judged(losses, best=best)
    assert verdict.to_dict()["use"] == FRAMES
    way = f" baselines_['{FRAMES}'].predict(...) uses it."
    advice = f"Use {WHO}: of all methods it has the least loss, 0.5."
    assert verdict.advice == advice
    assert verdict.found.endswith(advice if best == FRAMES else advice + way)
    if best != FRAMES:
        command = verdict.remarking(way="structsvm fit change-point recordings --method")
        assert command.found.endswith(f" {command.remarks.way} {FRAMES} uses it.")
        assert command.advice == advice


@pytest.mark.parametrize("n_groups", [1, 2, 4, 6])
def test_too_few_groups_have_no_interval_and_need_others(n_groups):
    """Of two groups it went from -12 to 55, and further recordings of the same tell nothing."""
    gains = np.arange(12.0) - np.arange(12) % 5
    units = np.repeat(np.arange(n_groups), 12 // n_groups)
    found = judged({"untrained": 1 + gains}, units=units, grouped=True)
    assert found.is_supported == (n_groups == 6)
    assert np.isfinite(found.untrained.low) == (n_groups > 1)
    assert ("95 % interval of the gain" in str(found)) == (n_groups == 6)
    assert "better on 7, worse on 0" in str(found)
    assert "inf" not in str(found)
    these = "this one group" if n_groups == 1 else f"these {n_groups} groups"
    few = f"The figures describe {these} only. Label recordings of more groups to find out."
    assert (few in str(found)) == (n_groups < 6)
    assert (found.to_dict()["contrasts"]["untrained"]["low"] is None) == (n_groups == 1)
    assert found.to_dict()["beats_baseline"] is None


# ---- contrasts, and the choice that they support


def test_the_best_of_many_baselines_is_no_better_by_chance_than_a_single_one():
    """Six classifiers that are exactly as good as the metric, on twelve recordings."""
    rng = np.random.default_rng(0)
    draws = 500
    n = 12
    names = [f"classifier {k}" for k in range(6)]
    better = held = 0
    for _ in range(draws):
        losses = {name: 1 + rng.normal(size=n) for name in ["untrained", *names]}
        losses["untrained"] += 3.0
        verdict = judged(losses, units=np.arange(n))
        better += verdict.code == "pays-less"
        held += verdict.tuned[0].low <= 0 <= verdict.tuned[0].high
    assert better / draws < 0.04
    assert held / draws > 0.94


def test_the_default_is_taken_unless_the_best_is_better_beyond_chance():
    """Recordings differ a lot, candidates little: only pairing sees that the third is better."""
    rng = np.random.default_rng(0)
    level = 10 * rng.random(20)
    noise = 0.1 * rng.normal(size=20)
    losses = np.column_stack([level + 1, level + 1.1, level + noise, level + noise - 0.001])
    units = np.arange(20)
    names = ["default", "default", "b", "c"]
    assert chosen(losses, units, names) == 3
    assert chosen(losses[:, :2], units, names[:2]) == np.argmin(losses[:, :2].mean(axis=0))
    assert chosen(level[:, None] + rng.normal(size=(20, 4)), units, names) < 2
    losses[0, 3] = np.nan
    assert chosen(losses, units, names) == 2
    losses[0, :2] = np.nan
    assert chosen(losses, units, names) == 2


def test_the_default_replaces_the_first_answer_only_if_its_mean_is_less():
    """The difference is within chance; neither is better beyond it."""
    noise = np.random.default_rng(0).normal(size=20)
    losses = np.column_stack([noise - noise.mean(), np.zeros(20), np.full(20, 0.1)])
    units = np.arange(20)
    names = ["default", "quick", "other"]
    for shift, of_quick, of_other in ((-0.01, 0, 0), (0.01, 1, 0), (0.2, 1, 2)):
        shifted = losses + np.array([shift, 0.0, 0.0])
        assert chosen(shifted, units, names) == 0
        assert chosen(shifted, units, names, first="quick") == of_quick
        assert chosen(shifted, units, names, first="other") == of_other
        assert chosen(shifted, units, names, first="not tried") == 0


@pytest.mark.parametrize("n_groups", [1, 2, 3, 5])
def test_with_few_groups_many_candidates_do_not_displace_the_default(n_groups):
    """One of thirty that are all as good looks better, and is not; one that is far better is."""
    rng = np.random.default_rng(0)
    draws = 200
    units = np.repeat(np.arange(n_groups), 4)
    names = [str(j) for j in range(30)]
    found = [chosen(rng.normal(size=(units.size, 30)), units, names) for _ in range(draws)]
    assert np.mean(np.array(found) > 0) < 0.08
    losses = rng.normal(size=(units.size, 30))
    losses[:, 7] -= 2000
    assert chosen(losses, units, names) == (7 if n_groups > 1 else 0)


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_repeated_draws_make_a_choice_no_more_certain(draws):
    """Two groups that are held out in three draws are two, not six."""
    rng = np.random.default_rng(0)
    once = rng.normal((0.9, 0.0), size=(8, 2))
    losses = np.vstack([once] * draws)
    units = np.arange(8 * draws)
    assert chosen(losses, units, ["default", "other"], None, draws) == chosen(
        once, units[:8], ["default", "other"]
    )
    few = np.vstack([[[2.0, 0.0], [2.1, 0.0]]] * draws)
    assert chosen(few, np.arange(2 * draws), ["default", "other"], None, draws) == 1
    wide = np.vstack([[[1.0, 0.0], [2.0, 0.0]]] * draws)
    assert chosen(wide, np.arange(2 * draws), ["default", "other"], None, draws) == 0


def test_standard_error_of_groups_is_that_of_their_means_when_they_are_equal():
    rng = np.random.default_rng(0)
    means = rng.normal(size=6)
    values = np.repeat(means, 4)
    alone, grouped, one = (
        Contrast.of("", values, np.repeat(np.arange(24 // n), n)).se for n in (1, 4, 24)
    )
    assert grouped == pytest.approx(means.std(ddof=1) / np.sqrt(6))
    assert alone < grouped
    assert np.isnan(one)


@pytest.mark.parametrize("sizes", [[4] * 6, [2, 3, 5, 8, 12], [1] * 4 + [20]])
@pytest.mark.parametrize("between", [0.0, 2.0])
def test_intervals_of_groups_hold_the_truth_whatever_their_sizes(sizes, between):
    """The mean of five groups, one of which has most of the recordings, varies as that one does."""
    rng = np.random.default_rng(1)
    draws = 2000
    units = np.repeat(np.arange(len(sizes)), sizes)
    held = 0
    for _ in range(draws):
        gains = between * rng.normal(size=len(sizes))[units] + rng.normal(size=units.size)
        found = Contrast.of("untrained", gains, units)
        held += found.low <= 0 <= found.high
    assert held / draws > 0.93
    even = len(set(sizes)) == 1
    assert found.freedom == pytest.approx(5) if even else found.freedom < len(sizes) - 1
