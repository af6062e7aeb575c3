"""Where ``structsvm try`` writes what it finds, and how it looks for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structsvm.cli.allowed_time import Time
from structsvm.cli.guard import Guard
from structsvm.io.folders import MODEL_NAME, TRIED_NAME

ALL = "all.structsvm"  # the model that is learned from all that was read


@dataclass(frozen=True)
class TryPlan:
    """Where what is found is written, and how it is looked for."""

    output: Path
    guard: Guard
    allowed: Time
    split: str | None
    jobs: int | None
    resume: bool
    refit: bool

    @property
    def is_chosen(self) -> bool:
        """Whether an earlier run has chosen what is to be learned from all."""
        return self.refit and not self.resume and (self.output / MODEL_NAME).is_file()

    @property
    def is_answered(self) -> bool:
        """Whether an earlier run has left an answer, which stays if time is short."""
        return self.resume and (self.output / MODEL_NAME).is_file()

    @property
    def end_again(self) -> float:
        """When what an earlier run has done as well ends; never, if it has no answer."""
        return self.allowed.over if self.is_answered else math.inf

    def check(self) -> None:
        """Refuse to write over what is there, apart from predictions."""
        names = [] if self.is_chosen else [MODEL_NAME, "report.html", TRIED_NAME]
        names += [ALL] if self.refit else []
        self.check_files([self.output / name for name in names])

    def check_files(self, paths: Sequence[Path]) -> None:
        self.guard.check_files(paths, replaceable=self.resume)
