"""Everything the page of a report shows, as plain values."""

from dataclasses import asdict
from typing import Any

import numpy as np

from structsvm.evaluation.scores import SCORES, meanings_in_words, score_titles
from structsvm.evaluation.sentences import baseline_in_words, baseline_title
from structsvm.learner.learner import Learner
from structsvm.plotting import words
from structsvm.plotting.held_out import HeldOut
from structsvm.plotting.report_pictures import pictures_of
from structsvm.support.values import counted, finite

WEIGHTS, CELLS = 20, 12  # features that are listed, and rows of the heat map


def content(held_out: HeldOut) -> dict[str, Any]:
    learner = held_out.learner
    evaluation = held_out.evaluation
    terms = held_out.words
    pictures = pictures_of(held_out)
    each = pictures.pop("each")
    titles = score_titles(evaluation)
    solution = learner.solution_
    entries = [] if solution is None else solution.history.entries
    plain: dict[str, Any] = finite(
        {
            **pictures,
            **asdict(terms),
            "scores": list(titles.items()),
            "measure": evaluation.verdict.evidence.measure,
            "meanings": meanings_in_words(titles, terms),
            "ideals": {name: SCORES[name].perfect for name in titles if name in SCORES},
            "axes": words.heaviest_directions(learner, 2)[0],
            "titles": {name: baseline_title(name) for name in evaluation.scores},
            "means": evaluation.scores,
            "gains": {name: asdict(c.told) for name, c in evaluation.verdict.contrasts.items()},
            "confusion": {
                name: {"states": list(map(str, of.states)), "counts": of.counts.tolist()}
                for name, of in evaluation.confusion.items()
            },
            "metric": _metric(learner) if learner.sees is not None else None,
            "facts": [*words.facts(learner, terms.whole).items()],
            "support": support_of(learner),
            "history": [{"lower": e.lower, "upper": e.upper} for e in entries],
            "recordings": [
                {
                    "name": scored.name,
                    "K": scored.n_clusters,
                    "found": {name: Ms[i].n_clusters for name, Ms in evaluation.guesses.items()},
                    "scores": {name: dict(scores) for name, scores in scored.scores.items()},
                    **each[i],
                }
                for i, scored in enumerate(evaluation.instances)
            ],
        }
    )
    return plain


def notes(held_out: HeldOut) -> list[str]:
    learner = held_out.learner
    sentences = []
    evidence = held_out.evaluation.verdict.evidence
    if evidence.seen:
        sentences.append(
            f"{evidence.method.capitalize()} was learned from {evidence.seen} of these: "
            "the figures are better than on new ones."
        )
    if learner.question_ in words.CHOSEN_FOR:
        sentences.append(f"It was {words.CHOSEN_FOR[learner.question_]}.")
    baselines = learner.problem_.traits.baselines
    if missing := [baseline_in_words(k) for k in baselines if k not in learner.baselines_]:
        sentences.append(
            f"Not tuned when this was learned, and so not compared: {', '.join(missing)}."
        )
    return sentences


def _metric(learner: Any) -> dict[str, Any]:
    B = words.scaled_metric(learner)
    names = learner.metric_feature_names_
    weights = np.diag(B)
    one_by_one = words.is_diagonal(B)
    order = np.argsort(-weights, kind="stable")
    cells = order[:CELLS]

    def short(values: Any) -> Any:
        """Five digits are enough for a picture."""
        return np.vectorize(lambda value: float(f"{value:.5g}"), otypes=[float])(values).tolist()

    return {
        "n_features": len(names),
        "unit": f"Weight of a feature against {words.unit_in_words(learner)}",
        "words": words.spectrum_in_words(learner).capitalize() + ".",
        "weights": [{"name": names[j], "weight": short(weights[j])} for j in order[:WEIGHTS]],
        "others": short(weights[order[WEIGHTS:]].sum()),
        "matrix": None if one_by_one else short(B[np.ix_(cells, cells)]),
        "eigenvalues": [] if one_by_one else short(words.eigenvalues(learner)),
    }


LABELLINGS_SHOWN = 3  # wrong labellings, of those that weigh most


def support_of(learner: Learner) -> dict[str, Any] | None:
    """The wrong labellings that weigh most, each with the true one; None where none is known."""
    solution = learner.solution_
    support = () if solution is None else solution.support or ()
    shown = [labelling for labelling in support if labelling.labelling is not None][
        :LABELLINGS_SHOWN
    ]
    if not shown:
        return None
    traits = learner.problem_.traits
    names = learner.training_data_.names
    terms = traits.words
    one = "segmentation" if traits.contiguous else "partition"
    total = sum(labelling.multiplier for labelling in support)
    figures = []
    for labelling in shown:
        i = labelling.instance
        pair = {"true": labelling.truth, "wrong": labelling.labelling}
        called = names[i] if names and i is not None else f"Training {terms.whole} {i}"
        parts = counted(labelling.labelling.n_clusters, terms.part)
        weighs = f"{100.0 * labelling.multiplier / total:.1f} % of the weight of all"
        caption = f"{called}: {parts} where {labelling.truth.n_clusters} are true, {weighs}."
        in_order = all(M.is_contiguous for M in pair.values())
        ends = {name: M.breakpoints for name, M in pair.items()} if in_order else None
        figures.append({"caption": caption, "ends": ends})
    holds = f"wrong {one} holds" if len(support) == 1 else f"wrong {one}s hold"
    said = (
        f"Learning keeps the true {one} of each {terms.whole} ahead of all others. {len(support)} "
        f"{holds} the metric where it is, and every other one could be left out. Those that weigh "
        "most:"
    )
    return {"title": f"Which {one}s define it", "words": said, "figures": figures}
