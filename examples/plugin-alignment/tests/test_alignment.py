"""The problem keeps its contract, and a metric aligns new pairs better than what is tuned."""

import numpy as np
import pytest
from structsvm_alignment import Alignment, deviations, warp
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
    assert deviations(y, 2, 3).tolist() == [[0, 0, 1], [1.5, 1, 0]]


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


WRONG = {
    "another end": np.array([[0, 0], [1, 1]]),
    "a jump": np.array([[0, 0], [2, 2]]),
    "a step back": np.array([[0, 0], [1, 1], [0, 1], [1, 2], [2, 2]]),
    "a cell twice": np.array([[0, 0], [1, 1], [1, 1], [2, 2]]),
    "no path": np.zeros(3),
    "nothing": np.zeros((0, 2)),
}


@pytest.mark.parametrize("path", WRONG.values(), ids=WRONG)
def test_a_wrong_path_is_refused(path):
    x = np.zeros((3, 2)), np.zeros((3, 2))
    with pytest.raises(DataError, match=r"pair 1: a path goes from \(0, 0\) to \(2, 2\)"):
        StructuredSVM(Alignment()).fit([x, x], [np.array([[0, 0], [1, 1], [2, 2]]), path])


@pytest.mark.parametrize(
    "x", [np.zeros((3, 2)), (np.zeros((3, 2)),), (np.zeros((3, 2)), np.zeros((3, 1)))]
)
def test_what_is_no_pair_is_refused(x):
    good = np.zeros((3, 2)), np.zeros((3, 2))
    y = np.array([[0, 0], [1, 1], [2, 2]])
    with pytest.raises(DataError, match="pair 1: a sample is two arrays"):
        StructuredSVM(Alignment()).fit([good, x], [y, y])
