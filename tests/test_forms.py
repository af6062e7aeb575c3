"""What comes back has the form of what was handed in; recordings bring labels and names along."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import structsvm
from structsvm import ChangePoint, MetricLearner, MetricLearnerCV
from structsvm.datasets import relevant_changes
from structsvm.errors import DataError, SettingsError
from structsvm.io import Recording, arrays_and_labels

RECORDINGS = relevant_changes(4, n_samples=200, n_features=3, n_relevant=2, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)
FRAMES = [pd.DataFrame(r.X, columns=r.features) for r in RECORDINGS]
METHODS = ("predict", "predict_breakpoints", "predict_partitions", "predict_segments", "transform")


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(FRAMES, YS)


def same(one, other):
    if isinstance(one, structsvm.EquivalenceMatrix):
        return one.breakpoints == other.breakpoints
    return np.array_equal(one, other)


class TestAnswers:
    @pytest.mark.parametrize("method", METHODS)
    def test_in_the_form_of_the_question(self, learner, method):
        ask = getattr(learner, method)
        listed = ask(XS)
        assert isinstance(listed, list)
        for one in (XS[0], FRAMES[0], RECORDINGS[0]):
            assert same(ask(one), listed[0])
        named = ask(dict(zip("abcd", FRAMES, strict=True)))
        assert list(named) == list("abcd")
        for found, other in ((named.values(), listed), (ask(RECORDINGS), listed)):
            assert all(same(a, b) for a, b in zip(found, other, strict=True))

    @pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
    def test_of_a_chosen_metric(self):
        search = MetricLearnerCV(candidates=["untrained", "diagonal"], lams=[0.1], cv=2)
        search.fit(RECORDINGS)
        listed = search.predict_breakpoints(XS)
        assert search.predict_breakpoints(XS[1]) == listed[1]
        assert search.predict_breakpoints({"x": RECORDINGS[2]}) == {"x": listed[2]}
        assert same(search.predict(XS[1]), search.predict(XS)[1])


class TestLearning:
    def test_recordings_bring_labels_and_names(self, learner):
        again = clone(learner).fit(RECORDINGS)
        assert again.feature_names_in_.tolist() == list(RECORDINGS[0].features)
        np.testing.assert_array_equal(again.metric_.factor, learner.metric_.factor)
        turned = [r.with_features(r.features[::-1], "us") for r in RECORDINGS]
        assert again.predict_breakpoints(turned) == again.predict_breakpoints(RECORDINGS)
        named = {r.name: r for r in RECORDINGS}
        np.testing.assert_array_equal(
            clone(learner).fit(named).metric_.factor, learner.metric_.factor
        )

    def test_frames_by_name(self, learner):
        names = ["d", "b", "c", "a"]
        frames, labels = dict(zip(names, FRAMES, strict=True)), dict(zip(names, YS, strict=True))
        found = clone(learner).fit(frames, dict(sorted(labels.items())))
        np.testing.assert_array_equal(found.metric_.factor, learner.metric_.factor)

    def test_at_once(self, learner):
        fresh = clone(learner)
        for one, other in zip(fresh.fit_predict(XS, YS), learner.predict(XS), strict=True):
            np.testing.assert_array_equal(one, other)
        for one, other in zip(fresh.fit_transform(XS, YS), learner.transform(XS), strict=True):
            np.testing.assert_array_equal(one, other)
        assert clone(learner).fit_predict(dict(enumerate(RECORDINGS)))[3].shape == (200,)

    def test_what_cannot_be(self, learner):
        bare = Recording("bare", XS[0], None, RECORDINGS[0].features)
        with pytest.raises(DataError, match="recording bare has no labels"):
            clone(learner).fit([RECORDINGS[0], bare])
        with pytest.raises(DataError, match="recordings and other things are mixed"):
            clone(learner).fit([RECORDINGS[0], XS[1]], YS[:2])
        with pytest.raises(DataError, match="'b' is only in one of them"):
            clone(learner).fit({"a": XS[0], "b": XS[1]}, {"a": YS[0]})
        other = Recording("other", XS[0], YS[0], ("x", "y", "z"))
        with pytest.raises(DataError, match="other has other features than the model"):
            learner.predict(other)
        for sparse in (sp.csr_matrix(XS[0]), [sp.csr_array(XS[0])]):
            with pytest.raises(DataError, match=r"sparse matrix: give X.toarray\(\)"):
                clone(learner).fit(sparse, YS[:1])


def test_recordings_are_judged_with_their_labels_and_names(learner):
    more = relevant_changes(5, n_samples=200, n_features=3, n_relevant=2, random_state=1)
    Xs, ys = arrays_and_labels(more)
    found = structsvm.evaluate(learner, more)
    assert [one.name for one in found.samples] == [r.name for r in more]
    assert found.scores == structsvm.evaluate(learner, Xs, ys).scores
    named = structsvm.evaluate(learner, {r.name: r.X for r in more}, {r.name: r.y for r in more})
    assert named.to_dict() == found.to_dict()


class TestNames:
    def test_problems_by_name(self, learner):
        named = MetricLearner("change-point", metric="diagonal").fit(FRAMES, YS)
        assert named.problem_ == ChangePoint()
        np.testing.assert_array_equal(named.metric_.factor, learner.metric_.factor)
        assert clone(named).problem == "change-point"

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"problem": "changepoint"}, "did you mean 'change-point'"),
            ({"problem": "changes"}, "problem must be"),
            ({"metric": "diag"}, "did you mean 'diagonal'"),
            ({"metric": "Full"}, "did you mean 'full'"),
            ({"regularizer": "square"}, "did you mean 'squared'"),
        ],
    )
    def test_others_are_guessed(self, given, message):
        with pytest.raises(SettingsError, match=message):
            MetricLearner(**given).fit(XS, YS)
