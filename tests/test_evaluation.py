"""What learning was worth, in numbers and in words."""

import json
import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from structsvm import MetricLearner
from structsvm.datasets import arrays_and_labels, relevant_changes
from structsvm.errors import DataError, SettingsError
from structsvm.evaluation import Evaluation, Paired, RecordingScores, Scores, evaluate
from structsvm.partitions.losses import partition_loss

TRAIN, TEST = (
    arrays_and_labels(
        relevant_changes(5, n_samples=200, n_features=12, n_relevant=2, jump=2.0, random_state=s)
    )
    for s in (0, 1)
)


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return MetricLearner(metric="diagonal").fit(*TRAIN).fit_baselines(*TRAIN)


def _scores(loss: float) -> Scores:
    return Scores(loss, covering=0.5, adjusted_rand=0.5, f1=0.5)


def made_up(*losses: tuple[float, float]) -> Evaluation:
    """Return an evaluation with the given losses, untrained and learned."""
    return Evaluation(
        tuple(
            RecordingScores("r", 3, _scores(learned), _scores(untrained), None)
            for untrained, learned in losses
        ),
        margin=5,
    )


class TestScores:
    def test_means_and_pairs_are_those_of_the_recordings(self, learner):
        result = evaluate(learner, *TEST)
        truths, guesses = learner.encode(*TEST), learner.predict_partitions(TEST[0])
        losses = [partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]
        assert [r.learned.loss for r in result.recordings] == losses
        assert result.learned.loss == pytest.approx(-learner.score(*TEST))
        rival = learner.decode_with(learner.baselines_["untrained"], TEST[0])
        untrained = [partition_loss(t, g) for t, g in zip(truths, rival, strict=True)]
        difference = np.subtract(untrained, losses)
        assert result.paired.mean == pytest.approx(difference.mean())
        assert result.paired.se == pytest.approx(difference.std(ddof=1) / math.sqrt(5))
        assert [r.n_segments for r in result.recordings] == [t.n_clusters for t in truths]

    def test_learning_pays_where_few_features_matter(self, learner):
        result = evaluate(learner, *TEST)
        assert result.learned.loss < 0.5 * result.untrained.loss
        assert result.learned.covering > result.untrained.covering
        assert result.learned.f1 > result.untrained.f1
        assert result.verdict.startswith("Better: learning lowers the loss by")

    def test_numbers_of_segments(self, learner):
        truths = learner.encode(*TEST)
        counts = [truth.n_clusters for truth in truths]
        expected = learner.predict_partitions(TEST[0], counts)
        result = evaluate(learner, *TEST, n_segments="true")
        assert [r.learned.loss for r in result.recordings] == [
            partition_loss(t, g) for t, g in zip(truths, expected, strict=True)
        ]
        alone = evaluate(learner, *TEST, n_segments=1)
        assert {r.learned.covering == r.pca.covering for r in alone.recordings} == {True}
        assert alone.paired == Paired(0.0, 0.0, 5)

    def test_margin_widens_the_hits(self, learner):
        narrow, wide = (evaluate(learner, *TEST, margin=m).untrained.f1 for m in (0, 50))
        assert narrow < wide

    def test_plain_values(self, learner):
        plain = json.loads(json.dumps(evaluate(learner, *TEST, names=list("abcde")).to_dict()))
        assert list(plain) == ["learned", "untrained", "pca", "paired", "recordings"]
        for name in ("learned", "untrained", "pca"):
            assert list(plain[name]) == ["loss", "covering", "adjusted_rand", "f1"]
        assert list(plain["paired"]) == ["mean", "se", "n"]
        assert [r["name"] for r in plain["recordings"]] == list("abcde")

    def test_without_tuned_components(self):
        learner = MetricLearner(metric="diagonal").fit(*TRAIN)
        result = evaluate(learner, *TEST)
        assert result.pca is None
        assert result.to_dict()["pca"] is None


class TestVerdict:
    @pytest.mark.parametrize(
        ("losses", "words"),
        [
            ([(3, 1), (4, 2), (5, 3.5)], "Better: learning lowers the loss by 1.83 ± 0.17"),
            ([(1, 3), (2, 4), (3.5, 5)], "Worse: learning raises the loss by 1.83 ± 0.17"),
            (
                [(3, 1), (1, 3), (2, 2.1)],
                "Not distinguishable: learning lowers the loss by -0.0",
            ),
            ([(2, 2), (1, 1)], "Not distinguishable"),
            ([(3, 1), (3, 1)], "Better: learning lowers the loss by 2 ± 0"),
            ([(0, 1), (0, 1)], "Worse: learning raises the loss by 1 ± 0"),
            ([(3, 1)], "On this one recording the loss is lower by 2: too few to tell"),
            ([(1, 3)], "On this one recording the loss is higher by 2: too few to tell"),
            ([(1, 1)], "On this one recording the loss is the same: too few to tell"),
        ],
    )
    def test_words(self, losses, words):
        assert made_up(*losses).verdict.startswith(words)

    def test_two_recordings_need_more_than_two_standard_errors(self):
        assert made_up((3, 1), (3, 2)).verdict.startswith("Not distinguishable")

    def test_share_of_the_loss(self):
        assert made_up((4, 1), (4, 1.2)).verdict.endswith("2 recordings), 72%.")

    def test_one_recording_has_no_standard_error(self):
        assert made_up((3, 1)).to_dict()["paired"] == {"mean": 2, "se": None, "n": 1}


class TestBadInput:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            evaluate(MetricLearner(), *TEST)

    def test_a_word_that_means_nothing(self, learner):
        with pytest.raises(SettingsError, match="must be an integer, 'true' or None, got 'auto'"):
            evaluate(learner, *TEST, n_segments="auto")

    def test_more_segments_than_samples(self, learner):
        with pytest.raises(DataError, match="has 200 samples: it cannot have 201 segments"):
            evaluate(learner, *TEST, n_segments=201)

    def test_names_of_another_number(self, learner):
        with pytest.raises(DataError, match="5 recordings but 2 names"):
            evaluate(learner, *TEST, names=["a", "b"])
