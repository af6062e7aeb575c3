"""Principal components as features: what they are, how many, and a metric of them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from structsvm import MetricLearner
from structsvm.errors import DataError, SettingsError
from structsvm.features import Chain, Components, Lags


@pytest.fixture
def recordings(rng):
    mixed = rng.normal(size=(5, 5))
    return [rng.normal(size=(T, 5)) @ mixed for T in (40, 25, 60)]


def test_components_are_those_of_scikit_learn_up_to_their_sign(recordings):
    found = Components(n_components=3, standardize=None).fit(recordings)
    expected = PCA(3).fit(np.vstack(recordings))
    products = np.abs(np.sum(found.components_ * expected.components_, axis=1))
    np.testing.assert_allclose(products, 1.0)
    assert found.share_ == pytest.approx(expected.explained_variance_ratio_.sum())


@pytest.mark.parametrize("share", [0.3, 0.8, 0.98])
def test_as_many_are_kept_as_have_the_share(recordings, share):
    found = Components(n_components=share).fit(recordings)
    fewer = Components(n_components=len(found.components_) - 1 or 1).fit(recordings)
    assert found.share_ >= share
    assert fewer.share_ < share or len(found.components_) == 1


def test_all_of_them_keep_every_distance(recordings):
    X = recordings[0]
    (Z,) = Components(n_components=9, standardize=None).fit(recordings).transform([X])
    assert Z.shape == X.shape
    np.testing.assert_allclose(
        np.linalg.norm(Z[1:] - Z[0], axis=1), np.linalg.norm(X[1:] - X[0], axis=1)
    )


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "all", float("nan"), None])
def test_numbers_that_cannot_be_are_refused(recordings, n):
    with pytest.raises(SettingsError, match="n_components must be a number of them, or a share"):
        Components(n_components=n).fit(recordings)


def test_what_cannot_be_standardised_or_does_not_vary_is_refused(recordings):
    with pytest.raises(SettingsError, match="standardize must be one of"):
        Components(standardize="all").fit(recordings)
    with pytest.raises(DataError, match="no feature varies"):
        Components().fit([np.ones((5, 2))])


@pytest.mark.parametrize("features", [Components(2), Chain(Lags((0, 1)), ("few", Components(2)))])
def test_a_learner_leaves_their_scales_as_they_are(features, rng):
    y = np.repeat([0, 1, 2], 15)
    Xs = [3.0 * np.eye(4)[y] + rng.normal(size=(45, 4)) for _ in range(4)]
    auto = MetricLearner(features=features).fit(Xs, [y] * 4)
    alone = MetricLearner(features=features, standardize=None).fit(Xs, [y] * 4)
    np.testing.assert_array_equal(auto.metric_.factor, alone.metric_.factor)
    told = MetricLearner(features=features, standardize="recording").fit(Xs, [y] * 4)
    assert told.inputs_.standardizer.kind == "recording"
