"""Compare the weight of a structured SVM with others by their losses on held-out instances."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from structsvm.data import one_each, units_of
from structsvm.errors import SettingsError
from structsvm.evaluation.contrast import LEARNED, Contrast
from structsvm.evaluation.sentences import baseline_title
from structsvm.learner.alternation import start_of
from structsvm.learner.labellings import WORDS, read_labelled
from structsvm.learner.structured import StructuredSVM, losses_of, predicted
from structsvm.problem import Solution
from structsvm.support import Floats, ShortTable, finite


@dataclass(frozen=True, repr=False)
class StructuredEvaluation:
    """Losses of a :class:`~structsvm.StructuredSVM` and of what it is compared with; ``print`` it.

    Returned by ``evaluate(svm, X, y)``. Differences are paired over the instances, or over groups.
    """

    losses: Mapping[str, Floats]
    """The loss of each instance, (N,), by predictor: "learned"; "null", the weight 0; "start", the
    weight of :meth:`Problem.start`; and the baselines that were given."""
    contrasts: Mapping[str, Contrast]
    """The loss of each other predictor minus that of the learned weight, the best one first."""
    names: Sequence[Any]
    """Names of the instances, by default their numbers."""
    solution: Solution
    """The solution that the learned weight is from, with its certificate."""
    guesses: Mapping[str, Sequence[Any]] = field(default_factory=dict, compare=False)
    """The labellings that were scored."""

    @property
    def scores(self) -> dict[str, float]:
        """Mean losses by predictor."""
        return {name: float(values.mean()) for name, values in self.losses.items()}

    def summary(self) -> str:
        """Mean losses, the paired differences, and how certain the optimum is, in words."""
        n = len(self.names)
        rows = [(baseline_title(name), mean) for name, mean in self.scores.items()]
        table = ShortTable(f"Mean loss of {WORDS.wholes(n)}", ("weight", "loss"), tuple(rows))
        than = "; ".join(map(str, self.contrasts.values()))
        loss = f"the loss of the learned weight is {self.scores[LEARNED]:.3g}: {than}."
        return f"{table}\nOn {WORDS.wholes(n)}, {loss} In training: {self.solution.summary()}"

    __repr__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        solution = self.solution
        return {
            "scores": self.scores,
            "contrasts": {name: finite(asdict(one)) for name, one in self.contrasts.items()},
            "certificate": finite(
                {
                    "status": solution.status.name,
                    "gap": float(solution.gap),
                    "lower": solution.lower,
                    "upper": solution.upper,
                }
            ),
            "instances": [
                {"name": name} | {of: float(values[i]) for of, values in self.losses.items()}
                for i, name in enumerate(self.names)
            ],
        }


def evaluate_structured(
    svm: StructuredSVM,
    X: Any,
    y: Any,
    names: Sequence[str] | None,
    baselines: Mapping[str, Any] | None,
    groups: Any,
) -> StructuredEvaluation:
    """The losses of the problem, of the learned weight and of others, on the same instances."""
    guesses = {LEARNED: svm.predict(X)}
    data = read_labelled(X, y)
    problem = svm.problem_
    weights: dict[str, Floats | None] = {"null": np.zeros(svm.solution_.w.size)}
    weights["start"] = start_of(problem)
    for name, w in weights.items():
        if w is not None:
            guesses[name] = predicted(problem, w, data.xs)
    for name, one in (baselines or {}).items():
        labellings = list(one.predict(X))
        if name in guesses or len(labellings) != len(data.ys):
            raise SettingsError(
                f"the baseline {name!r} has the name of another one, or predicts "
                f"{len(labellings)} labellings for {WORDS.wholes(len(data.ys))}"
            )
        guesses[name] = labellings
    losses = {name: losses_of(problem, data.ys, labellings) for name, labellings in guesses.items()}
    units = units_of(groups, len(data.ys), WORDS)[1]
    contrasts = [
        Contrast.of(name, values - losses[LEARNED], units)
        for name, values in losses.items()
        if name != LEARNED
    ]
    contrasts.sort(key=lambda one: one.mean)
    return StructuredEvaluation(
        losses,
        {one.baseline: one for one in contrasts},
        one_each(range(len(data.ys)) if names is None else names, len(data.ys), WORDS, "name"),
        svm.solution_,
        guesses,
    )
