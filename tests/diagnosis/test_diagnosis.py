"""What makes a fit poor is found, named and told with what to do; a good fit has no findings."""

import json
from dataclasses import replace

import numpy as np
import pytest
from recording_cases import OnDemand, changes, protocol

from structsvm import (
    Clustering,
    DataError,
    MetricLearner,
    MetricLearnerCV,
    PartialLabels,
    SettingsError,
    diagnose,
    evaluate,
    load,
    save,
)
from structsvm.diagnosis.of_fit import path
from structsvm.errors import DataWarning
from structsvm.features import BoundaryScores, HermiteMoments, Lags
from structsvm.learner.preparing import prepare
from structsvm.plotting import report_page
from structsvm.solvers import CuttingPlane, Stopping

XS, YS = changes(12, n_features=6)
GOOD = MetricLearner(metric="diagonal").fit(XS, YS)


def changed(change):
    """Copies of the recordings, changed in place, one by one."""
    made = [X.copy() for X in XS]
    for X, y in zip(made, YS, strict=True):
        change(X, y)
    return made


def one(found, kind):
    """The finding of a kind, which has what to do."""
    (finding,) = [f for f in found if f.kind == kind]
    assert finding.remedy
    return finding


def test_a_good_fit_has_no_findings_and_lists_the_checks():
    found = diagnose(GOOD, XS, YS, groups=range(12))
    assert len(found) == 0
    assert {"certificate", "scale", "leakage", "unrelated labels"} <= set(found.checked)
    assert "nothing was found" in str(found)


def test_a_feature_that_dominates_by_its_unit_is_found():
    Xs = changed(lambda X, y: X.__imul__([1, 1, 1, 500, 1, 1]))
    learner = MetricLearner(metric="diagonal", standardize=None).fit(Xs, YS)
    finding = one(diagnose(learner, Xs, YS), "scale")
    assert finding.values["feature"] == "x3"
    assert finding.values["share"] > 0.99
    assert "features are not scaled" in finding.found
    assert "scale" not in diagnose(GOOD, Xs, YS).kinds  # which scales them


def test_features_that_are_often_constant_are_found():
    Xs = changed(lambda X, y: X.__setitem__((slice(None), 4), 3.0))
    finding = one(diagnose(GOOD, Xs, YS), "constant")
    assert finding.values["constant_in"] == {"x4": 12}
    for i, X in enumerate(XS[:4]):
        Xs[i] = X
    finding = one(diagnose(GOOD, Xs, YS), "constant")
    assert finding.values["constant_in"] == {"x4": 8}


def test_a_feature_of_spikes_is_found():
    Xs = changed(lambda X, y: X.__setitem__((7, 2), 1e4))[:12]
    finding = one(diagnose(GOOD, Xs, YS), "spikes")
    assert list(finding.values["shares"]) == ["x2"]


def test_a_number_that_stands_for_missing_values_is_found():
    """A sensor that was off for a while writes -9999, too often for a spike."""
    Xs = [X.copy() for X in XS]
    Xs[3][40:55, 2] = -9999.0
    Xs[5][:2, 4] = 1e6
    finding = one(diagnose(GOOD, Xs, YS, names=[f"walk {i}" for i in range(12)]), "codes")
    assert finding.values["codes"] == {"x2": [-9999.0], "x4": [1e6]}
    assert "x2 is -9999 in 15 samples (the first is sample 40 of walk 3)" in finding.found
    assert "missing" in finding.remedy


def test_computed_features_cause_no_findings():
    """Moments of a valve that is open or shut are copies, and take two values each."""
    valve = [(X[:, 2] > 0) + 1.0 for X in XS]
    Xs = changed(lambda X, y: None)
    for X, state in zip(Xs, valve, strict=True):
        X[:, 2] = state
    for features in (HermiteMoments(), Lags(lags=(-1, 0, 1)), BoundaryScores("logistic")):
        learner = MetricLearner(metric="diagonal", features=features).fit(Xs, YS)
        kinds = set(diagnose(learner, Xs, YS).kinds)
        assert not kinds & {"codes", "copied features", "constant", "labels among features"}


def test_features_that_move_together_are_found():
    Xs = changed(lambda X, y: X.__setitem__((slice(None), 5), -2 * X[:, 1] + 3))
    finding = one(diagnose(GOOD, Xs, YS), "copied features")
    assert finding.values["pairs"] == [["x1", "x5"]]


def test_a_feature_that_holds_the_labels_is_found():
    Xs = changed(lambda X, y: X.__setitem__((slice(None), 3), np.asarray(y)))
    finding = one(diagnose(GOOD, Xs, YS), "labels among features")
    assert finding.values["features"] == ["x3"]


def test_shifted_labels_are_found():
    finding = one(diagnose(GOOD, XS, [np.roll(y, 97) for y in YS]), "unrelated labels")
    assert finding.values["chance"] > 0.05


def test_labels_that_fit_other_recordings_as_well_are_found():
    """Changes come at about fixed times, and so does a transient: shifted labels do worse."""
    Xs, ys = protocol(0)
    learner = MetricLearner(metric="diagonal", lam=0.1).fit(Xs, ys)
    assert "labels of other recordings" in one(diagnose(learner, Xs, ys), "unrelated labels").found


def test_copies_of_recordings_are_found_once():
    found = diagnose(GOOD, [*XS, XS[2]], [*YS, YS[2]], names=[f"walk{i}" for i in range(13)])
    assert one(found, "copies").values["copies"] == [["walk2", "walk12"]]
    assert "leakage" not in found.kinds  # a copy is told once


def test_overlaps_with_each_other_and_with_training_recordings_are_found():
    cut = [XS[0][:150], XS[0][50:], *XS[1:]]
    found = diagnose(GOOD, cut, [YS[0][:150], YS[0][50:], *YS[1:]])
    seen, overlap = [f for f in found if f.kind == "leakage"]
    assert len(seen.values["learned_from"]) == 11
    (pair,) = overlap.values["pairs"]
    assert (pair["first"], pair["second"]) == ("0", "1")
    assert 0.6 < pair["share"] < 0.7


def test_overlaps_between_groups_are_found():
    cut = [XS[0][:150], XS[0][50:], *XS[2:]]
    groups = [0, 1, *range(2, 12)]
    ys = [YS[0][:150], YS[0][50:], *YS[2:]]
    assert any("groups" in f.found for f in diagnose(GOOD, cut, ys, groups=groups))
    groups[1] = 0
    assert not any("groups" in f.found for f in diagnose(GOOD, cut, ys, groups=groups))
    few = diagnose(GOOD, XS, YS, groups=["a", "b", "c"] * 4)
    assert one(few, "leakage").values["groups"] == 3
    copy = diagnose(GOOD, [*XS[:5], XS[0]], [*YS[:5], YS[0]], groups=[0, 1, 2, 3, 4, 5])
    assert {"copies", "leakage"} <= set(copy.kinds)  # across groups it is both


def test_too_few_recordings_for_the_weights_are_found():
    learner = MetricLearner().fit(XS[:2], YS[:2])
    few = [f for f in diagnose(learner) if f.kind == "few labels"]
    assert few[0].values == {"n_recordings": 2, "needed": 5}
    assert few[1].values["weights"] == 21


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_certificate_that_did_not_close_is_found():
    learner = MetricLearner(solver=CuttingPlane(Stopping(max_iter=2))).fit(XS, YS)
    finding = one(diagnose(learner), "certificate")
    assert finding.values["status"] == "MAX_ITER"
    assert "max_iter" in finding.remedy


@pytest.mark.parametrize(("end", "word"), [(0, "lowest"), (-1, "highest")])
def test_a_price_at_the_edge_of_the_grid_is_found(end, word, tmp_path):
    save(GOOD, tmp_path / "m")
    learner = load(tmp_path / "m")
    losses = np.linspace(0, 5, learner.calibration_.penalties.size)
    learner.calibration_ = replace(learner.calibration_, losses=losses[:: 1 if end == 0 else -1])
    assert word in one(diagnose(learner), "price").found


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_a_regularizer_strength_at_the_edge_of_the_path_is_found():
    search = MetricLearnerCV(candidates=["diagonal", "untrained"], lams=[1e-3, 1e-4], cv=2)
    finding = one(diagnose(search.fit(XS[:6], YS[:6]), XS, YS), "path")
    assert finding.values["tried"] == [1e-4, 1e-3]
    search.best_lam_ = 5e-4  # within
    assert not list(path(search))


def test_tables_and_partial_labels_are_diagnosed():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 50)
    X = rng.normal(size=(150, 3)) + 3 * np.eye(3)[y]
    learner = MetricLearner(Clustering()).fit([X], [y])
    assert len(diagnose(learner, [X], [y])) == 0
    shuffled = diagnose(learner, [X], [rng.permutation(y)])
    assert shuffled.kinds == ("unrelated labels",)
    partial = [np.where(np.arange(200) < 150, YS[0], -1), *YS[1:11], PartialLabels()]
    assert len(diagnose(GOOD, XS, partial)) == 0


def test_findings_are_plain_values_and_a_table():
    found = diagnose(GOOD, [*XS, XS[2]], [*YS, YS[2]])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["findings"][0]["kind"] == "copies"
    lines = str(found).splitlines()
    assert lines[0].startswith("copies")
    assert max(map(len, lines)) <= 100


def test_input_that_cannot_be_diagnosed_is_refused():
    with pytest.raises(SettingsError, match="ys of no instances"):
        diagnose(GOOD, ys=YS)
    with pytest.raises(SettingsError, match="give the original data"):
        diagnose(GOOD, prepare(GOOD, XS), YS)
    with pytest.raises(DataError, match="12 recordings but 2 groups"):
        diagnose(GOOD, XS, YS, groups=[1, 2])


def test_the_report_has_the_findings_escaped():
    Xs = [X.copy() for X in XS[:6]]
    Xs[1] = Xs[0]
    names = ["<b>one</b>", "two", *"abcd"]
    page = report_page(GOOD, Xs, [YS[0], YS[0], *YS[2:6]], names=names)
    assert "What may make it poor" in page
    assert "&lt;b&gt;one&lt;/b&gt; = two" in page
    assert "<b>one</b>" not in page


@pytest.mark.parametrize("container", [list, OnDemand])
def test_a_finding_that_decides_the_result_is_warned_of_by_fit_and_predict(container):
    spoilt = [X.copy() for X in XS]
    spoilt[0][20:40, 2] = -9999.0
    for say in (
        lambda: MetricLearner(metric="diagonal").fit(container(spoilt), YS),
        lambda: GOOD.predict(container(spoilt[:2])),
    ):
        with pytest.warns(DataWarning, match=r"x2 is -9999 in 20 samples \(the first is sample 20"):
            say()
    told = [np.column_stack([X, 2.0 * y]) for X, y in zip(XS, YS, strict=True)]
    with pytest.warns(DataWarning, match="x6: constant within every labelled segment and not"):
        learner = MetricLearner(metric="diagonal").fit(container(told[:6]), YS[:6])
    with pytest.warns(DataWarning, match="x6: constant within every labelled segment and not"):
        evaluate(learner, container(told[6:]), YS[6:])
