"""Two metrics whose distance is bounded, which is a joint constraint on two learning problems."""

import cvxpy as cp

from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
from structsvm.modeling import StructuredHinge
from structsvm.problems import ChangePoint


def related_metrics(data: list, apart: float, lam: float = 0.1) -> cp.Problem:
    """A diagonal metric and a price for each of two sets ``(Xs, ys)`` of recordings."""
    P = data[0][0][0].shape[1]
    metrics = [cp.Variable(P, nonneg=True, name=f"B{k}") for k in range(2)]
    prices = [cp.Variable(nonneg=True, name=f"price{k}") for k in range(2)]
    losses = [
        StructuredHinge(ChangePoint(), Xs, ys, [B, price])
        for (Xs, ys), B, price in zip(data, metrics, prices, strict=True)
    ]
    size = sum(cp.sum_squares(v) for v in [*metrics, *prices])
    related = [cp.norm1(metrics[0] - metrics[1]) <= apart]
    return cp.Problem(cp.Minimize(lam * size + sum(losses)), related)


if __name__ == "__main__":
    sizes = {"n_samples": 200, "n_features": 5, "n_relevant": 2}
    sets = [relevant_changes(6, **sizes, random_state=seed) for seed in (0, 1)]
    problem = related_metrics([arrays_and_labels(recordings) for recordings in sets], apart=0.01)
    print(problem.solve(method="cutting-plane"), [v.value for v in problem.variables()])
