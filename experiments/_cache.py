"""Results of long experiments, kept piece by piece so that a run can be cut short and resumed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments._origin import DOCS, ROOT, USUAL, commit, kept_from
from structsvm.support.whole_files import write_atomically

CACHE = ROOT / ".cache" / "pieces" if DOCS == USUAL else DOCS / "pieces"


def seconds_option(parser: argparse.ArgumentParser) -> None:
    """How long to run; by default until everything is there."""
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin nothing after this"
    )


def run_on(main: Callable[[Path, float], None], folder: Path, about: str | None) -> None:
    """Run an experiment on the data of this folder, or of another one that is named."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, default=folder)
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds)


class Pieces:
    """Numbers by key, computed once, with the commit that computed each.

    Parameters
    ----------
    name : str
        Of the experiment.
    seconds : float
        After which no further piece is begun.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.path = CACHE / f"{name}.json"
        self.deadline = time.monotonic() + seconds
        self.left_out = 0
        self.known: dict[str, Any] = {}
        self.commits: dict[str, str] = {}
        if self.path.exists():
            content = json.loads(self.path.read_text())
            self.known = content["pieces"]
            self.commits = content["commits"]

    def get(self, key: str, compute: Callable[[], Any]) -> Any:
        """The piece of this key; None if it is not there and the time is over."""
        if key not in self.known:
            if time.monotonic() > self.deadline:
                self.left_out += 1
                return None
            self.known[key] = compute()
            self.commits[key] = commit()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {"pieces": self.known, "commits": self.commits}
            write_atomically(self.path, json.dumps(content, indent=1).encode())
        kept_from.add(self.commits[key])
        return self.known[key]

    def finish(self) -> None:
        """End the program if something was left out: what is there is kept."""
        if self.left_out:
            raise SystemExit(
                f"{self.left_out} pieces are left; run again to go on ({self.path} has the others)"
            )
