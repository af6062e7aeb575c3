"""The answer of ``structsvm try``: a learner, its judgement, and what is written and told."""

import json
import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from structsvm.cli.evaluate import called, readable
from structsvm.cli.options import METHODS
from structsvm.cli.outputs import Prediction, write_folder
from structsvm.cli.parts import ENOUGH, Part
from structsvm.cli.predict import answers_of
from structsvm.cli.terminal import Terminal
from structsvm.errors import printable
from structsvm.evaluation import LEARNED, NOTES, Verdict, baseline_in_words, classifiers_in
from structsvm.io.folders import ANSWER, MODEL_NAME, PREDICTED
from structsvm.learner import Learner
from structsvm.learner.training_set import CLUSTERS, ROWS
from structsvm.model_selection import MetricLearnerCV
from structsvm.plotting.held_out import ShownOnPage
from structsvm.plotting.report import page_of
from structsvm.support import Interrupts, write_atomically

MORE_MINUTES = "More --minutes learn from more of them, and judge by more."


@dataclass(frozen=True)
class Told:
    """What an answer is told by; it is kept in a file, so that a later run can tell it again."""

    chosen_by: str  # what was chosen by cross-validation; "" if nothing was compared
    plain: dict[str, Any]  # the result as JSON
    scores: list[str]  # tables of scores, and the verdict
    notes: list[str]  # where the files are, and what there was no time for
    advice: str  # what to do, and the command that does it

    def keep(self, output: Path) -> None:
        write_atomically(output / ANSWER, json.dumps(asdict(self), allow_nan=False).encode())

    @classmethod
    def earlier(cls, output: Path) -> "Told | None":
        """What an earlier run has kept; None if that is not there, or no more as it was."""
        with suppress(OSError, ValueError, TypeError):
            return cls(**json.loads((output / ANSWER).read_text()))
        return None

    def tell(self, terminal: Terminal, can_refit: bool) -> None:
        """Print scores and verdict, the paths of the files, and the candidates not tried."""
        if self.chosen_by:
            terminal.note(self.chosen_by)
        terminal.report(self.plain, *self.scores)
        refit = ["add --refit to learn what was chosen from all, the part held out as well\n"]
        for note in [*self.notes, *refit * can_refit, self.advice]:
            terminal.note(note)


@dataclass(frozen=True, eq=False)
class Answer:
    """A learner that was chosen, how it was judged, and advice on what to do next."""

    test: Part  # the instances it was judged by
    held_out: ShownOnPage
    search: MetricLearnerCV | None  # what chose it; None for the first answer
    verdict: Verdict
    advice: str  # what to do, and the command that does it
    page: str  # the report
    predicted: Sequence[Prediction]  # the partitions of what was held out

    @classmethod
    def of(
        cls,
        train: Part,
        test: Part,
        output: Path,
        learner: Learner,
        search: MetricLearnerCV | None = None,
    ) -> "Answer":
        """Judge a learner by what was held out, with the columns that it was learned from."""
        test = test.with_columns_of(learner)
        inputs = test.inputs
        instances = inputs.scored(test.data.instances)
        model = output / MODEL_NAME
        with_counts = learner.problem_.traits.given_k and not learner.problem_.traits.contiguous
        predict = f"structsvm predict {model} NEW"
        if with_counts:  # without a number, the learned price would decide
            numbers = set(learner.training_data_.n_clusters)
            predict += f" --n-clusters {numbers.pop() if len(numbers) == 1 else 'N'}"
        about: dict[str, Any] = {"times": inputs.times, "groups": test.data.groups}
        about["tolerance"] = 5 * inputs.window
        about["unseen_states"] = "count"  # our split may hold out all of a rare state
        with inputs.named():
            learner.training_data_.warn_if_among([x.data for x in instances], inputs.words)
            held_out = ShownOnPage.of(
                learner, inputs.Xs, inputs.ys, names=inputs.names, measured=instances, **about
            )
            asked = inputs.request
            paths = " ".join(map(shlex.quote, asked.paths))
            way = f"structsvm fit {asked.problem} {paths} --method"
            judged = held_out.evaluation.verdict
            verdict = verdict_of(search, judged, way, test.question)
            verdict = replace(verdict, ranking=verdict.ranking.among(METHODS))
            if test.is_thinned or train.is_thinned:
                verdict = verdict.remarking(more=MORE_MINUTES)
            page = page_of(held_out, f"{called(inputs.request.paths)}: what was learned", verdict)
            guesses = held_out.evaluation.guesses[LEARNED]
            answers = answers_of(
                learner,
                inputs,
                instances,
                n_clusters=[M.n_clusters for M in guesses] if with_counts else None,
                prepared=list(held_out.evaluation.prepared),
            )
        advice = f"{verdict.answer} {verdict.advice}"
        if verdict.code == "blind":
            advice += f"\n  structsvm diagnose {model} LABELLED"
        elif verdict.use not in (None, verdict.best):
            advice += f" {NOTES['learn']}\n  {way} {verdict.use}"
        else:
            advice += f" {NOTES['predict']}\n  {predict}"
        return cls(test, held_out, search, verdict.remarking(way=None), advice, page, answers)

    def write(self, train: Part, output: Path) -> None:
        """Write the model, the report and the predictions; Ctrl-C waits until all are written."""
        with Interrupts():
            train.inputs.save(self.held_out.learner, output / MODEL_NAME)
            write_atomically(output / "report.html", printable(self.page).encode())
            write_folder(output / PREDICTED, self.test.inputs, self.predicted)
            self.told(output).keep(output)

    def replaces(self, earlier: "Answer") -> bool:
        """Whether this answer names states if an earlier one did, and has no larger loss."""
        own, others = (one.held_out.evaluation.scores[LEARNED] for one in (self, earlier))
        if own.get("accuracy") is None and others.get("accuracy") is not None:
            return False
        sizes = {one.held_out.learner.training_data_.n_samples for one in (self, earlier)}
        if len(sizes) == 1:
            return True
        loss = own["loss"]
        other_loss = others["loss"]
        return loss is not None and other_loss is not None and loss <= other_loss

    def in_short(self, seconds: float) -> str:
        """The answer in a line, given after so many seconds."""
        scores = self.held_out.evaluation.scores
        learner = self.held_out.learner
        losses = ", ".join(
            f"{learner.called if name == LEARNED else baseline_in_words(name)} {loss:.3f}"
            for name in (LEARNED, "untrained", *classifiers_in(learner.baselines_))
            if (loss := scores[name]["loss"]) is not None
            and (name == LEARNED or baseline_in_words(name) != learner.called)
        )
        return f"first answer after {seconds:.0f} s; losses: {losses}"

    def told(self, output: Path) -> Told:
        """What the answer is to be told by: as JSON, and in words."""
        evaluation = self.held_out.evaluation
        search = self.search
        chosen = self.held_out.learner.called
        untried = dict[str, float]()
        if search is not None:
            chosen = search.best_candidate_
            untried = search.untried_
            chosen += "" if search.best_lam_ is None else f", lam {search.best_lam_:g}"
        is_crossed = self.verdict.evidence.cross_validated
        written = {
            "model": str(output / MODEL_NAME),
            "report": str(output / "report.html"),
            "predictions": str(output / PREDICTED),
        }
        plain = {
            **evaluation.to_dict(),
            "chosen": chosen,
            "best": None if search is None else search.best_candidate_,
            "untried": untried,
            "verdict": self.verdict.to_dict(),
            "verdict_from": "cross-validation" if is_crossed else "held out",
            "findings": self.held_out.diagnosis.to_dict()["findings"],
            "predicted_with": LEARNED,
            **written,
        }
        *scores, _ = readable(evaluation)
        chosen_by = f"chosen by cross-validation: {chosen}" if search is not None else ""
        notes = ["\n" + "".join(f"{what:<13}{path}\n" for what, path in written.items())]
        if kinds := ", ".join(self.held_out.diagnosis.kinds):
            notes.append(f"possible faults, of which the report says what to do: {kinds}\n")
        if search is None:
            notes.append("nothing was compared with it: give more --minutes, or --resume\n")
        elif untried:
            names = ", ".join(untried)
            minutes = math.ceil(sum(untried.values()) / 60)
            notes.append(
                f"there was no time for {names}: --resume --minutes {minutes} tries them, too\n"
            )
        return Told(chosen_by, plain, [*scores, str(self.verdict)], notes, self.advice)


def verdict_of(
    search: MetricLearnerCV | None, held_out: Verdict, way: str, question: str
) -> Verdict:
    """The verdict of the held-out part, or of cross-validation if that alone supports one."""
    held_out = held_out.remarking(question=question or held_out.remarks.question, way=way)
    if search is None:
        return held_out
    held_out = held_out.advised_by(search.verdict_.ranking)
    held_out = replace(held_out, best=search.verdict_.best)
    whole = search.split not in (ROWS, CLUSTERS)
    if held_out.is_supported or question or not search.verdict_.is_supported:
        notes = [] if held_out.is_supported or not whole else ["wanted"]
        return held_out.with_notes(notes, enough=ENOUGH)
    verdict = search.verdict_.remarking(way=way)
    gain = held_out.untrained
    notes = ["cross-validated" if whole else "of parts"]
    if (verdict.pays and gain.mean < 0) or (verdict.harms and gain.mean > 0):
        notes.append("other way")
    return verdict.with_notes(notes, contrast=gain.told)
