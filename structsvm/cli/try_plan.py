"""The plan of a run of ``structsvm try``: its files, its time, and what an earlier run has left."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structsvm.cli.allowed_time import Time
from structsvm.cli.guard import Guard
from structsvm.io.folders import ANSWER, MODEL_NAME, TRIED_NAME

ALL = "all.structsvm"  # the model that --refit learns from all data


@dataclass(frozen=True)
class TryPlan:
    """The options of a run, and what an earlier run has left in the same folder."""

    output: Path
    guard: Guard
    allowed: Time
    split: str | None
    jobs: int | None
    resume: bool
    refit: bool

    @property
    def is_chosen(self) -> bool:
        """Whether an earlier run has chosen the model that --refit is to learn from all data."""
        return self.refit and not self.resume and (self.output / MODEL_NAME).is_file()

    @property
    def is_answered(self) -> bool:
        """Whether an earlier run has left an answer, which is kept if there is no time for more."""
        return self.resume and (self.output / MODEL_NAME).is_file()

    @property
    def end_again(self) -> float:
        """When to give up work that an earlier run has done; never, if that has left no answer."""
        return self.allowed.over if self.is_answered else math.inf

    def check(self) -> None:
        """Refuse to overwrite files that are there already, apart from predictions."""
        names = [] if self.is_chosen else [MODEL_NAME, "report.html", TRIED_NAME, ANSWER]
        names += [ALL] if self.refit else []
        self.check_files([self.output / name for name in names])

    def check_files(self, paths: Sequence[Path]) -> None:
        """Refuse files that cannot be written; those of an earlier run are replaced by --resume."""
        self.guard.check_files(paths, replaceable=self.resume)
