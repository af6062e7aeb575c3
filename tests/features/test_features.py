"""Transformers of recordings: lags, moving statistics, stages in unions and chains."""

import json
import re

import numpy as np
import pytest
from cases import cases
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from structsvm import MetricLearner, MetricLearnerCV, evaluate
from structsvm.errors import DataError, LearningError, ModelFileError, SettingsError
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    Components,
    HermiteMoments,
    Lags,
    MovingStatistics,
    RecordingTransformer,
    Rows,
    StateScores,
    Union,
)
from structsvm.features.trees import Trees
from structsvm.learner.files import model_codec
from structsvm.support.codec import Unstorable

STATISTICS = ("mean", "spread", "slope", "before", "after", "before_minus_after")
PLAIN = [
    Columns(),
    Columns(which=(1,)),
    Lags(),
    MovingStatistics(windows=(2, 5), statistics=STATISTICS),
    HermiteMoments(n_moments=2),
    Components(),
    Components(n_components=2, standardize="training"),
    Chain(Lags(lags=(-1, 0, 1)), Components(n_components=0.9)),
    Rows(StandardScaler()),
    Rows(PCA(n_components=1)),
    Union(Columns(), Lags(lags=(-1, 1)), MovingStatistics()),
    Chain(Rows(StandardScaler()), Lags(lags=(-2, 0)), Rows(PCA(2))),
    Chain(
        Lags(lags=(0, 1)), Union(("same", Columns()), ("kernel", Rows(Nystroem(n_components=3))))
    ),
]


@pytest.fixture
def recordings(rng):
    return [rng.normal(size=(T, 2)) for T in (30, 12, 7)]


@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
def test_a_transformer_keeps_the_samples_and_names_every_feature(transformer, recordings):
    fitted = clone(transformer)
    found = fitted.fit_transform(recordings)
    names = fitted.get_feature_names_out(["speed", "turn"])
    assert [F.shape for F in found] == [(len(X), len(names)) for X in recordings]
    assert len(set(names)) == len(names)
    assert len(fitted.get_feature_names_out()) == len(names)
    again = fitted.transform(recordings)
    assert all(np.allclose(F, G) for F, G in zip(found, again, strict=True))
    np.testing.assert_allclose(fitted.transform(recordings[1:2])[0], again[1])
    (alone,) = fitted.transform([np.array([[1.0, 2.0]])])
    assert alone.shape == (1, len(names))
    assert np.isfinite(alone).all()


@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
def test_a_transformer_is_cloned_by_its_parameters(transformer, recordings):
    copy = clone(transformer)
    assert repr(copy) == repr(transformer) or "Union" in repr(copy) or "Chain" in repr(copy)
    assert str(copy.get_params()) == str(transformer.get_params())
    assert not [name for name in vars(clone(copy.fit(recordings))) if name.endswith("_")]


@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
def test_a_transformer_says_what_is_wrong_with_recordings(transformer, recordings):
    with pytest.raises(NotFittedError):
        clone(transformer).transform(recordings)
    fitted = clone(transformer).fit(recordings)
    with pytest.raises(DataError, match="recording 0 has 3 features, the model has 2"):
        fitted.transform([np.zeros((9, 3))])
    broken = np.zeros((9, 2))
    for value in (np.inf,) if transformer.takes_gaps else (np.inf, np.nan):
        broken[4, 1] = value
        with pytest.raises(DataError, match=f"recording 1 has {value} in row 4, column 1"):
            fitted.transform([recordings[0], broken])


def test_missing_values_stay_missing_in_lags_and_columns():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    (found,) = Lags((-1, 0)).fit_transform([X])
    assert found == pytest.approx(
        np.array([[1, np.nan, 1, np.nan], [1, np.nan, 2, 3]]), nan_ok=True
    )
    (found,) = Columns([1]).fit_transform([X])
    assert found == pytest.approx(X[:, 1:], nan_ok=True)


def test_lags_are_shifted_columns_padded_at_the_edges(rng):
    X = rng.normal(size=(9, 2))
    lags = (-3, 0, 1, 8)
    padded = np.pad(X, ((8, 8), (0, 0)), mode="edge")
    (found,) = Lags(lags).fit_transform([X])
    np.testing.assert_array_equal(found, np.hstack([padded[8 + k : 17 + k] for k in lags]))


def test_lags_longer_than_the_shortest_recording_are_refused(recordings):
    message = r"recording 2 has 7 samples, too few for a lag of -8: use lags below 7"
    with pytest.raises(DataError, match=message):
        Lags((-8, 0, 2)).fit(recordings)
    assert Lags((-6, 0)).fit(recordings).n_features_in_ == 2


def in_windows(X, statistic, w):
    """The definition, sample by sample."""
    T = len(X)
    found = []
    for t in range(T):
        window = X[max(t - (w - 1) // 2, 0) : t + w // 2 + 1]
        after = X[t : t + w].mean(axis=0)
        before = X[max(t - w, 0) : t].mean(axis=0) if t else after
        k = np.arange(len(window)) - (len(window) - 1) / 2
        found.append(
            {
                "mean": window.mean(axis=0),
                "spread": window.std(axis=0),
                "slope": k @ window / max((k**2).sum(), 1e-9),
                "before": before,
                "after": after,
                "before_minus_after": before - after,
            }[statistic]
        )
    return np.array(found)


@pytest.mark.parametrize("T", [1, 2, 3, 4, 5, 10, 11, 29])
@pytest.mark.parametrize("w", [2, 3, 4, 5, 12])
def test_moving_statistics_are_statistics_of_each_window(T, w, rng):
    X = 5 + rng.normal(size=(T, 2))
    (found,) = MovingStatistics((w,), STATISTICS).fit_transform([X])
    expected = np.hstack([in_windows(X, statistic, w) for statistic in STATISTICS])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_moving_statistics_keep_their_precision_far_from_zero_and_late(rng):
    T, w = 20_000, 7
    small = rng.normal(scale=1e-3, size=(T, 1))
    drift = 1e6 + np.linspace(0, 1e5, T)[:, None] // 100 * 100
    (found,) = MovingStatistics((w,), ("spread", "slope")).fit_transform([small + drift])
    X = (small + drift)[-50:]
    expected = np.hstack([in_windows(X, name, w) for name in ("spread", "slope")])
    np.testing.assert_allclose(found[-40:], expected[-40:], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("value", [0.1, -1e9 / 3])
def test_a_constant_column_has_no_spread_no_slope_and_no_change(value):
    X = np.full((23, 1), value)
    statistics = ("spread", "slope", "before_minus_after")
    (found,) = MovingStatistics((2, 5, 40), statistics).fit_transform([X])
    assert not found.any()


@cases(
    (Lags(()), r"lags must be different whole numbers, got \(\)"),
    (Lags((0, 0)), "lags must be different whole numbers"),
    (MovingStatistics((0,)), "windows must be different whole numbers of 1 or more"),
    (MovingStatistics((1,)), "a window of 1 sample has no spread"),
    (MovingStatistics(statistics=("median",)), "statistics must be some of .*'median'"),
    (Columns(which=(0, 2)), r"which names column 2, and there are 0\.\.1"),
    (Columns(which=(-1,)), "which must be different whole numbers of 0 or more"),
    (HermiteMoments(0), "n_moments must be from 1 to 50"),
    (Union(), "stages of Union must be one or more"),
    (Chain(("a", Lags()), ("a", Lags())), "must be one or more, which differ"),
    (Chain(("a__b", Lags())), "no double underscore"),
    (Union(Lags), r"stage 'lags' must be an instance of a transformer .* such as Lags\(\)"),
    (Union(StandardScaler()), r"or Rows\(...\) around one of scikit-learn"),
    (Rows(Lags()), "one of recordings is used without Rows"),
    (Rows(LinearDiscriminantAnalysis()), "needs labels.*use StateScores"),
    ids=lambda x: repr(x)[:40],
)
def test_settings_of_transformers_are_checked_by_fit(recordings, transformer, message):
    with pytest.raises(SettingsError, match=message):
        transformer.fit(recordings)
    with pytest.raises(SettingsError, match=message):
        transformer.fit_transform(recordings)


def test_a_row_transformer_that_fails_is_named(recordings):
    with pytest.raises(LearningError, match=r"Rows: PCA\(n_components=9\) failed: n_components=9"):
        Rows(PCA(n_components=9)).fit(recordings)


class Careless(RecordingTransformer):
    """Returns what it is told to."""

    def __init__(self, make):
        self.make = make

    def transform(self, Xs):
        return self.make(Xs)

    def get_feature_names_out(self, input_features=None):
        return np.array(["x"], dtype=object)


@cases(
    (lambda Xs: Xs[1:], "stage 'careless' returned features of 2 of 3 recordings"),
    (lambda Xs: [X[1:] for X in Xs], "recording 0 has 30 samples, and stage 'careless'"),
    (lambda Xs: [X[:, 0] for X in Xs], r"features of shape \(30,\)"),
    (
        lambda Xs: [X[:, : 1 + (len(X) > 9)] for X in Xs],
        r"recording 2 .* \(7, 1\), not \(7, 2\)",
    ),
    (lambda Xs: [np.log(np.sign(X) * 0) for X in Xs], "recording 0: stage 'careless' returned"),
)
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("composition", [Union, Chain])
def test_features_that_cannot_be_used_are_refused_by_name(composition, recordings, make, message):
    with pytest.raises(DataError, match=message):
        composition(Careless(make), Columns()).fit_transform(recordings)


def test_parameters_of_stages_are_set_by_name(recordings):
    union = Union(Lags((0,)), ("wide", MovingStatistics((9,))), Lags((1,)))
    assert list(union.get_params(deep=False)) == ["lags1", "wide", "lags2"]
    assert union.get_params()["wide__windows"] == (9,)
    union.set_params(wide__windows=(3,), lags2=Columns(), lags1__lags=(1, 0))
    assert repr(union.named_stages["wide"]) == "MovingStatistics(windows=(3,))"
    assert [name for name, _ in union.fit(recordings).stages_] == ["lags1", "wide", "lags2"]
    nested = Chain(("first", union), ("rows", Rows(StandardScaler())))
    nested.set_params(first__wide__windows=(5,), rows__transformer__with_mean=False)
    assert union.named_stages["wide"].windows == (5,)
    with pytest.raises(
        SettingsError, match=r"no stage is called 'lag': there are \['first', 'rows'"
    ):
        nested.set_params(lag__lags=(1,))


def test_a_union_puts_features_side_by_side_and_a_chain_one_after_the_other(recordings):
    lags = Lags((-1, 0))
    moving = MovingStatistics((3,))
    first = lags.fit_transform(recordings)
    second = moving.fit_transform(recordings)
    both = Union(lags, moving).fit_transform(recordings)
    np.testing.assert_array_equal(both[1], np.hstack([first[1], second[1]]))
    chained = Chain(lags, moving)
    found = chained.fit_transform(recordings)
    np.testing.assert_array_equal(found[1], moving.fit_transform(first)[1])
    assert chained.get_feature_names_out(["a", "b"])[0] == "a lag -1 mean 3"


def test_features_of_one_name_are_told_apart_by_their_stage(recordings):
    union = Union(Columns(), Lags((0, 1))).fit(recordings)
    names = union.get_feature_names_out(["a", "b"]).tolist()
    assert names == ["columns a", "columns b", "lags a", "lags b", "a lag +1", "b lag +1"]


def test_unions_and_chains_pass_labels_to_their_stages(rng):
    y = np.repeat(["a", "b"], 10)
    Xs = [(y == "b")[:, None] + rng.normal(size=(20, 1)) for _ in range(4)]
    scores = StateScores("logistic", lags=(0,))
    alone = scores.fit_transform(Xs, [y] * 4, list("uvwu"))
    both = Union(Columns(), scores).fit_transform(Xs, [y] * 4, list("uvwu"))
    chained = Chain(Columns(), scores).fit_transform(Xs, [y] * 4, list("uvwu"))
    for i in range(4):
        np.testing.assert_allclose(both[i], np.hstack([Xs[i], alone[i]]))
        np.testing.assert_allclose(chained[i], alone[i])
    with pytest.raises(DataError, match="StateScores learns the states of samples by name"):
        Union(Columns(), scores).fit_transform(Xs)


# ---- principal components as features: what they are, how many, and a metric of them


@pytest.fixture
def mixed_recordings(rng):
    mixed = rng.normal(size=(5, 5))
    return [rng.normal(size=(T, 5)) @ mixed for T in (40, 25, 60)]


def test_components_are_those_of_scikit_learn_up_to_their_sign(mixed_recordings):
    found = Components(n_components=3, standardize=None).fit(mixed_recordings)
    expected = PCA(3).fit(np.vstack(mixed_recordings))
    products = np.abs(np.sum(found.components_ * expected.components_, axis=1))
    np.testing.assert_allclose(products, 1.0)
    assert found.share_ == pytest.approx(expected.explained_variance_ratio_.sum())


@pytest.mark.parametrize("share", [0.3, 0.8, 0.98])
def test_as_many_components_are_kept_as_explain_the_share(mixed_recordings, share):
    found = Components(n_components=share).fit(mixed_recordings)
    fewer = Components(n_components=len(found.components_) - 1 or 1).fit(mixed_recordings)
    assert found.share_ >= share
    assert fewer.share_ < share or len(found.components_) == 1


def test_all_components_together_keep_distances(mixed_recordings):
    X = mixed_recordings[0]
    (Z,) = Components(n_components=9, standardize=None).fit(mixed_recordings).transform([X])
    assert Z.shape == X.shape
    np.testing.assert_allclose(
        np.linalg.norm(Z[1:] - Z[0], axis=1), np.linalg.norm(X[1:] - X[0], axis=1)
    )


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "all", float("nan"), None])
def test_impossible_numbers_of_components_are_refused(mixed_recordings, n):
    with pytest.raises(SettingsError, match="n_components must be a number of them, or a share"):
        Components(n_components=n).fit(mixed_recordings)


def test_components_of_constant_features_are_refused(mixed_recordings):
    with pytest.raises(SettingsError, match="standardize must be one of"):
        Components(standardize="all").fit(mixed_recordings)
    with pytest.raises(DataError, match="no feature varies"):
        Components().fit([np.ones((5, 2))])


@pytest.mark.parametrize("features", [Components(2), Chain(Lags((0, 1)), ("few", Components(2)))])
def test_a_learner_does_not_rescale_components(features, rng):
    y = np.repeat([0, 1, 2], 15)
    Xs = [3.0 * np.eye(4)[y] + rng.normal(size=(45, 4)) for _ in range(4)]
    auto = MetricLearner(features=features).fit(Xs, [y] * 4)
    alone = MetricLearner(features=features, standardize=None).fit(Xs, [y] * 4)
    np.testing.assert_array_equal(auto.metric_.factor, alone.metric_.factor)
    told = MetricLearner(features=features, standardize="recording").fit(Xs, [y] * 4)
    assert told.inputs_.standardizer.kind == "recording"


# ---- changes that no mean shows: what one is told, and what finds them


def shaking(n, seed=0):
    """Recordings that shake more or less, always about the same mean."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        lengths = rng.integers(30, 60, size=5)
        y = np.repeat(np.arange(5), lengths)
        Xs.append(np.where(y % 2, 2.0, 0.4)[:, None] * rng.normal(size=(y.size, 2)))
        ys.append(np.cumsum(lengths).tolist())
    return Xs, ys


def test_the_menu_of_recordings_finds_changes_of_spread():
    Xs, ys = shaking(14)
    menu = ("untrained", "equal-segments", "diagonal", "lags-diagonal", "moments-diagonal")
    search = MetricLearnerCV(candidates=menu, cv=3, random_state=0).fit(Xs[:9], ys[:9])
    assert search.best_candidate_ == "moments-diagonal"
    assert search.verdict_.answer == "Learning pays."
    result = evaluate(search, Xs[9:], ys[9:])
    assert result.scores["learned"]["loss"] < 0.5 * result.scores["equal-segments"]["loss"]


# ---- fitted transformers become plain values and arrays, and come back as they were


NAMES = np.repeat(["rest", "walk", "turn", "rest"], [8, 10, 7, 5])

STAGES = [
    Columns((1, 0)),
    Lags((-1, 0)),
    MovingStatistics((3, 6), ("mean", "slope")),
    HermiteMoments(3),
    Rows(StandardScaler(with_mean=False)),
    Rows(MinMaxScaler()),
    Rows(RobustScaler()),
    Rows(PolynomialFeatures(2)),
    Rows(Nystroem(n_components=5, gamma=0.3, random_state=0)),
    Rows(make_pipeline(StandardScaler(), PCA(n_components=1))),
    BoundaryScores("logistic", widths=(3,)),
    StateScores("logistic"),
    StateScores("boosting", standardize="training"),
    StateScores(LogisticRegression(C=3.0), lags=(0,), standardize=None),
    StateScores(HistGradientBoostingClassifier(max_iter=5), lags=(0, 1)),
    StateScores(make_pipeline(StandardScaler(), LogisticRegression())),
    StateScores(GaussianNB()),
    StateScores(LinearDiscriminantAnalysis()),
    StateScores(QuadraticDiscriminantAnalysis(reg_param=0.1)),
    Union(
        Columns(), ("inner", Chain(Lags((0, 2)), Rows(PCA(2)))), StateScores("logistic", lags=(0,))
    ),
]


@pytest.fixture
def walks(rng):
    return [
        (NAMES == "walk")[:, None] + rng.normal(scale=0.5, size=(30, 2)) * [1, 2] for _ in range(4)
    ]


@pytest.mark.parametrize("stage", STAGES, ids=lambda s: " ".join(repr(s).split())[:70])
def test_a_transformer_is_restored_from_json_and_arrays(stage, walks):
    fitted = clone(stage).fit(walks, [NAMES] * 4)
    codec = model_codec()
    header = json.dumps(codec.pack(fitted), allow_nan=False)
    loaded = model_codec(codec.arrays).unpack(json.loads(header))
    for F, G in zip(fitted.transform(walks), loaded.transform(walks), strict=True):
        np.testing.assert_allclose(G, F, rtol=1e-12, atol=1e-12)
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert repr(loaded) == repr(fitted)
    again = clone(loaded).fit(walks, [NAMES] * 4).transform(walks)
    np.testing.assert_allclose(again[0], fitted.transform(walks)[0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_stored_trees_predict_what_boosting_predicts(n_classes, rng):
    X = rng.normal(size=(400, 4))
    y = rng.integers(n_classes, size=400)
    model = HistGradientBoostingClassifier(max_iter=20).fit(X + y[:, None] * [1, 0, 0, 2], y)
    new = 3 * rng.normal(size=(200, 4))
    np.testing.assert_allclose(
        Trees.of(model).predict_proba(new), model.predict_proba(new), atol=1e-12
    )


def test_a_classifier_that_cannot_be_stored_is_named(walks):
    fitted = Union(Columns(), StateScores(BaggingClassifier(n_estimators=5), lags=(0,)))
    fitted.fit(walks, [NAMES] * 4)
    message = r"features\.stages.*estimator is BaggingClassifier\(n_estimators=5\)"
    assert re.search(message, model_codec().lost(fitted, "features"))
    with pytest.raises(Unstorable, match=r"transformer is FunctionTransformer"):
        model_codec().pack(Rows(FunctionTransformer(lambda X: X)).fit(walks))


def test_a_users_transformer_that_cannot_be_stored_is_named():
    class Lags(RecordingTransformer):
        def transform(self, Xs):
            return list(Xs)

        def get_feature_names_out(self, input_features=None):
            return np.array([])

    assert "Lags" in model_codec().lost(Lags(), "features")


@pytest.mark.parametrize(
    "kind", [HistGradientBoostingClassifier(max_iter=3), RandomForestClassifier(3)]
)
@pytest.mark.parametrize(
    ("array", "value"), [("left", 10**6), ("right", -5), ("left", 0), ("feature", 9), ("roots", -1)]
)
def test_damaged_trees_are_refused_before_prediction(kind, array, value, rng):
    X = rng.normal(size=(60, 2))
    fitted = kind.fit(X, (X[:, 0] > 0).astype(int))
    trees = Trees.of(fitted)
    np.testing.assert_allclose(trees.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    damaged = getattr(trees, array)
    damaged.flat[0] = value
    with pytest.raises(ModelFileError, match="the stored trees are damaged"):
        trees.predict_proba(X)
