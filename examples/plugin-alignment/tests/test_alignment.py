"""The problem keeps its contract, and a metric aligns new pairs better than what is tuned."""

import numpy as np
import pytest
from structsvm_alignment import Alignment, deviations, pruned, warp
from structsvm_alignment.compare import deviation, distance, drawn, tuned

from structsvm import StructuredSVM
from structsvm.errors import DataError, PluginError
from structsvm.testing import check_problem


def all_paths(x):
    """Every path of a small pair."""
    rows, columns = len(x[0]), len(x[1])
    found = [[(0, 0)]]
    whole = []
    while found:
        path = found.pop()
        i, j = path[-1]
        if (i, j) == (rows - 1, columns - 1):
            whole.append(np.array(path))
            continue
        ahead = ((i + 1, j), (i, j + 1), (i + 1, j + 1))
        found += [[*path, cell] for cell in ahead if cell[0] < rows and cell[1] < columns]
    return whole


@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_the_contract_is_kept_on_all_paths(metric):
    rng = np.random.default_rng(5)
    xs = [(rng.normal(size=(4, 2)), rng.normal(size=(5, 2))) for _ in range(3)]
    ys = [all_paths(x)[-k] for k, x in enumerate(xs)]
    check_problem(Alignment(2, metric), xs, ys, labellings=all_paths)


def test_labellings_may_depend_on_the_label():
    """Here they are the paths that end where the true one ends; others are answers of no pair."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    ys = [all_paths(x)[0]]

    def ending(_, y):
        return [path for path in all_paths(x) if (path[-1] == y[-1]).all()]

    check_problem(Alignment(2), [x], ys, labellings=ending)
    with pytest.raises(PluginError, match="labelling"):
        check_problem(Alignment(2), [x], ys, labellings=lambda _, y: [y[:-1]])


def test_the_cheapest_path_is_that_of_all_paths():
    rng = np.random.default_rng(0)
    x = np.zeros((4, 1)), np.zeros((5, 1))
    for _ in range(20):
        costs = rng.normal(size=(4, 5))
        least = min(costs[path[:, 0], path[:, 1]].sum() for path in all_paths(x))
        found = warp(costs)
        assert costs[found[:, 0], found[:, 1]].sum() == pytest.approx(least)


def test_cells_are_as_far_from_a_path_as_in_its_row_and_column():
    y = np.array([[0, 0], [0, 1], [1, 2]])
    assert deviations(y).tolist() == [[0, 0, 1], [1.5, 1, 0]]


@pytest.mark.parametrize(("is_mixed", "metric"), [(True, "full"), (False, "diagonal")])
def test_a_learned_metric_aligns_new_pairs(is_mixed, metric):
    """Mixed features have no weights of their own; plain ones are tuned one by one as well."""
    rng = np.random.default_rng(0)
    xs, ys = drawn(rng, 30, is_mixed)
    svm = StructuredSVM(Alignment(metric=metric), lam=1e-3).fit(xs[:15], ys[:15])
    assert svm.solution_.gap <= 1e-2
    ours = np.mean([distance(y, p) for y, p in zip(ys[15:], svm.predict(xs[15:]), strict=True)])
    single = Alignment(10, "diagonal")
    plain = deviation(single, np.ones(10), xs[15:], ys[15:])
    by_hand = deviation(single, tuned(single, xs[:15], ys[:15]), xs[15:], ys[15:])
    assert ours <= 0.5 * plain
    assert ours <= (0.5 if is_mixed else 1.2) * by_hand


@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_anchors_are_completed_by_the_cheapest_path_through_them(metric):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    problem = Alignment(2, metric)
    w = problem.start()
    costs = problem.costs(w, x)
    for anchors in ([[0, 0], [3, 4]], [[0, 0], [1, 3], [3, 4]], [[0, 0], [0, 2], [2, 2], [3, 4]]):
        anchors = np.array(anchors)
        assert not problem.is_complete(anchors)
        found = problem.complete(w, x, anchors)
        assert problem.is_complete(found)
        through = [path for path in all_paths(x) if {*map(tuple, anchors)} <= {*map(tuple, path)}]
        least = min(costs[path[:, 0], path[:, 1]].sum() for path in through)
        assert costs[found[:, 0], found[:, 1]].sum() == pytest.approx(least)
        assert {*map(tuple, anchors)} <= {*map(tuple, found)}


@pytest.mark.parametrize("n_whole", [0, 3])
def test_a_metric_is_learned_from_anchors(n_whole):
    rng = np.random.default_rng(0)
    xs, ys = drawn(rng, 24, True)
    known = [y if i < n_whole else y[[*range(0, len(y) - 1, 8), -1]] for i, y in enumerate(ys[:12])]
    svm = StructuredSVM(Alignment(), lam=1e-3).fit(xs[:12], known)
    ours = np.mean([distance(y, p) for y, p in zip(ys[12:], svm.predict(xs[12:]), strict=True)])
    plain = deviation(Alignment(10, "diagonal"), np.ones(10), xs[12:], ys[12:])
    assert ours <= 0.5 * plain


WRONG = {
    "another end": np.array([[0, 0], [1, 1]]),
    "another begin": np.array([[0, 1], [1, 1], [2, 2]]),
    "no numbers of samples": np.array([[0.0, 0.0], [2.0, 2.0]]),
    "a step back": np.array([[0, 0], [1, 1], [0, 1], [1, 2], [2, 2]]),
    "a cell twice": np.array([[0, 0], [1, 1], [1, 1], [2, 2]]),
    "no path": np.zeros(3),
    "nothing": np.zeros((0, 2)),
}


def said(error):
    return str(error) + " ".join(getattr(error, "__notes__", ()))


@pytest.mark.parametrize("path", WRONG.values(), ids=WRONG)
def test_a_wrong_path_is_refused(path):
    x = np.zeros((3, 2)), np.zeros((3, 2))
    with pytest.raises(DataError, match=r"a path goes from \(0, 0\) to \(2, 2\)") as refused:
        StructuredSVM(Alignment()).fit([x, x], [np.array([[0, 0], [1, 1], [2, 2]]), path])
    assert "instance 1" in said(refused.value)


@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_light_directions_are_left_out_where_pairs_are_aligned_as_well_without(metric):
    rng = np.random.default_rng(3)
    xs, ys = drawn(rng, 24, False)
    svm = StructuredSVM(Alignment(metric=metric), lam=1e-3).fit(xs[:12], ys[:12])
    problem = svm.problem_
    w = svm.solution_.w
    v = pruned(problem, w, xs[:12], ys[:12], distance)
    assert deviation(problem, v, xs[:12], ys[:12]) <= deviation(problem, w, xs[:12], ys[:12])
    heavy, all_of_them = (np.linalg.eigvalsh(np.atleast_2d(weight_of(problem, u))) for u in (v, w))
    kept = heavy > 1e-9 * heavy.max()
    assert heavy[kept] == pytest.approx(all_of_them[-kept.sum() :])  # as they were, or left out
    assert not pruned(problem, 0 * w, xs[:2], ys[:2], distance).any()


def weight_of(problem, w):
    B = problem.weight_space().to_metric(w)
    return np.diag(B) if B.ndim == 1 else B


@pytest.mark.parametrize(
    "x", [np.zeros((3, 2)), (np.zeros((3, 2)),), (np.zeros((3, 2)), np.zeros((3, 1)))]
)
@pytest.mark.parametrize("y", [[[0, 0], [1, 1], [2, 2]], [[0, 0], [2, 2]]])
def test_what_is_no_pair_is_refused(x, y):
    good = np.zeros((3, 2)), np.zeros((3, 2))
    path = np.array([[0, 0], [1, 1], [2, 2]])
    svm = StructuredSVM(Alignment())
    with pytest.raises(DataError, match="is two arrays") as refused:
        svm.fit([good, x], [path, np.array(y)])
    assert "instance 1" in said(refused.value)
    xs, ys = drawn(np.random.default_rng(0), 2, False)
    svm.fit([(a[:, :2], b[:, :2]) for a, b in xs], ys)
    with pytest.raises(DataError, match="is two arrays") as refused:
        svm.predict([good, x])
    assert "instance 1" in said(refused.value)
