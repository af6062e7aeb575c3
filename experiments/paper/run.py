"""Every experiment of the paper, one after another, and docs/results.md with what came of it.

    make paper              # everything; Ctrl-C, and later the same again to go on
    make paper QUICK=1      # small versions of all, in .cache/paper-quick, in minutes
    make paper FRESH=1      # forget what was computed before

What each experiment prints is in .cache/paper (or in the folder of quick runs). Experiments whose
data are not there, and which are not shipped with a dependency, are left out and named.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structsvm.support.whole_files import write_atomically

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
QUICK = ROOT / ".cache" / "paper-quick"
TOLD = 60.0
"""Seconds between two words on how far an experiment has come."""


@dataclass(frozen=True)
class Part:
    """One experiment, or the part of one that is done by itself."""

    shown: str
    """Where the paper has it."""
    command: tuple[str, ...]
    quick: tuple[str, ...] | None
    """The small version, if it takes part in quick runs."""
    sizes: str
    seeds: str
    minutes: float
    """About how long it takes on two cores."""
    data: str | None = None
    """What it needs of the public sets."""
    loader: str = ""
    """Who fetches that."""

    @property
    def name(self) -> str:
        """Short, for files and messages."""
        return " ".join(self.command).replace(".py", "").replace("make ", "")

    def digest(self, arguments: Sequence[str]) -> str:
        """Of what it runs: another one means that it has to run again."""
        script = FOLDER / self.command[0]
        text = script.read_bytes() if script.exists() else b""
        return hashlib.sha256(text + " ".join(arguments).encode()).hexdigest()[:16]


TABLES = ("iris", "wine", "balance_scale", "ionosphere", "movement_libras", "digits", "letter")
OF_TABLES = {"data": "tables", "loader": "fetch_letter, fetch_movement_libras, fetch_ionosphere"}
HALVES = "all rows, and halves of the rows"

PARTS = (
    Part(
        "Figure 1, right end",
        ("figure1_full_labels.py",),
        ("figure1_full_labels.py", "--seeds", "1"),
        "T = 600, P = 300, 10 series learn, 10 test",
        "5",
        1,
    ),
    Part(
        "Figure 1",
        ("figure1_robustness.py", "--figure"),
        ("figure1_robustness.py", "--figure", "--seeds", "1", "--fractions", "0.2", "1.0"),
        "T = 600, P = 300, 10 series learn, 10 test",
        "10",
        6,
    ),
    Part(
        "Table 1",
        ("table1_shows.py",),
        ("table1_shows.py", "--quick"),
        "T = 5400, P = 38, 64 and 102, 4 shows learn, 3 choose, 3 test",
        "1",
        18,
    ),
    *(
        Part(
            f"Table 2, {table}",
            ("table2_uci.py", table),
            ("table2_uci.py", table) if table in ("iris", "wine") else None,
            HALVES,
            "10",
            6 if table == "letter" else 1,
            **({} if table in ("iris", "wine", "digits") else OF_TABLES),
        )
        for table in TABLES
    ),
    Part("Table 2, Xing et al.", ("make", "rivals"), None, HALVES, "10", 40, **OF_TABLES),
    Part(
        "Table 3",
        ("table3_horses.py",),
        ("table3_horses.py", "--quick"),
        "80 photographs, 10 learn, 70 test",
        "10",
        20,
        "weizmann_horse",
        "fetch_weizmann_horse",
    ),
    Part(
        "Figure 2",
        ("figure2_pictures.py",),
        ("figure2_pictures.py", "--test", "10"),
        "50 pictures, 10 learn, 40 test",
        "1",
        1,
    ),
    Part(
        "Text, neuroblastoma",
        ("neuroblastoma.py",),
        ("neuroblastoma.py",),
        "7 annotated chromosomes of 4 profiles",
        "-",
        1,
        "neuroblastoma",
        "fetch_neuroblastoma",
    ),
    Part(
        "Appendix",
        ("appendix_theorems.py",),
        ("appendix_theorems.py",),
        "all segmentations of 7 samples, 4000 pairs of 400",
        "1",
        0.5,
    ),
)


class Book:
    """What has been done, in how much time, kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts = self._kept()

    def _kept(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            found = json.loads(self.path.read_text())
        return found

    def is_done(self, part: Part, arguments: Sequence[str]) -> bool:
        """Whether it has been run as it is now."""
        known = self.parts.get(part.name, {})
        return bool(known.get("done")) and known.get("digest") == part.digest(arguments)

    def add(
        self, part: Part, arguments: Sequence[str], done: bool, seconds: float, cpu: float
    ) -> None:
        """Keep how it went; the time of runs that were cut short counts, too.

        The file is read again, because another run may do other parts meanwhile (``--only``).
        """
        self.parts = self._kept()
        digest = part.digest(arguments)
        known = self.parts.get(part.name, {})
        if known.get("done") or known.get("digest") != digest:
            known = {"seconds": 0.0, "cpu": 0.0}
        self.parts[part.name] = {
            "digest": digest,
            "done": done,
            "seconds": known["seconds"] + seconds,
            "cpu": known["cpu"] + cpu,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, json.dumps(self.parts, indent=1).encode())

    def expected(self, part: Part, quick: bool) -> float:
        """Seconds that it will take."""
        known = self.parts.get(part.name, {})
        return float(known["seconds"]) if known.get("done") else part.minutes * (2 if quick else 60)


def main(
    quick: bool, fresh: bool, only: Sequence[str], seconds: float, parts: Sequence[Part] = PARTS
) -> int:
    """Run what is left, write the page, and say what is missing."""
    docs = QUICK if quick else ROOT / "docs"
    if quick:
        shutil.rmtree(docs, ignore_errors=True)
        (docs / "paper").mkdir(parents=True)
        shutil.copy(ROOT / "docs" / "results.md", docs)
    logs = docs / "logs" if quick else ROOT / ".cache" / "paper"
    if fresh:
        shutil.rmtree(logs, ignore_errors=True)
        shutil.rmtree(ROOT / ".cache" / "pieces", ignore_errors=True)
    book = Book(logs / "book.json")
    left = _left(parts, book, quick, only)
    deadline = time.monotonic() + seconds
    failed = []
    for i, (part, arguments) in enumerate(left):
        if time.monotonic() > deadline:
            say(f"{len(left) - i} parts are left; run again to go on")
            break
        rest = sum(book.expected(other, quick) for other, _ in left[i + 1 :])
        say(f"[{i + 1}/{len(left)}] {part.shown}: {' '.join(arguments)}")
        if not run(part, arguments, book, rest, logs, docs, quick, deadline):
            failed.append(part)
    page = [sys.executable, "-m", "experiments._page", book.path]
    subprocess.run(page, cwd=ROOT, check=True, env=_environment(docs))
    say(f"the page is {docs / 'results.md'}")
    for part in failed:
        say(f"failed: {part.shown}; see {_log(logs, part)}")
    return 1 if failed else 0


def _left(
    parts: Sequence[Part], book: Book, quick: bool, only: Sequence[str]
) -> list[tuple[Part, tuple[str, ...]]]:
    """The parts to run, and what to type for each."""
    data = Path(os.environ.get("STRUCTSVM_DATA") or ROOT.parent / "shared" / "data")
    found = []
    for part in parts:
        arguments = part.quick if quick else part.command
        if arguments is None or (only and not any(word in part.name for word in only)):
            continue
        if part.data is not None and not (data / part.data).is_dir():
            say(f"left out: {part.shown}, because {data / part.data} is missing ({part.loader})")
        elif book.is_done(part, arguments):
            say(f"done before: {part.shown}")
        else:
            found.append((part, arguments))
    return found


def run(
    part: Part,
    arguments: Sequence[str],
    book: Book,
    rest: float,
    logs: Path,
    docs: Path,
    quick: bool,
    deadline: float,
) -> bool:
    """Run one part, saying how far it is; whether all went well."""
    logs.mkdir(parents=True, exist_ok=True)
    expected = book.expected(part, quick)
    start = time.monotonic()
    cpu = _cpu()
    line = list(arguments)
    if line[0] != "make":
        module = f"experiments.paper.{Path(line[0]).stem}"
        line = [sys.executable, "-m", module, *line[1:]]
        if "seconds_option" in (FOLDER / arguments[0]).read_text() and deadline < float("inf"):
            line += ["--seconds", f"{max(deadline - start, 1):.0f}"]
    code = None
    with _log(logs, part).open("a") as log:
        process = subprocess.Popen(
            line, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=_environment(docs)
        )
        try:
            while code is None:
                try:
                    code = process.wait(timeout=TOLD)
                except subprocess.TimeoutExpired:
                    spent = time.monotonic() - start
                    say(
                        f"    {_minutes(spent)} of about {_minutes(max(expected, spent))}; about "
                        f"{_minutes(max(expected - spent, 0) + rest)} left in all"
                    )
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise SystemExit("interrupted: run again to go on") from None
        finally:
            spent = time.monotonic() - start
            book.add(part, arguments, code == 0, spent, _cpu() - cpu)
    cut_short = code != 0 and time.monotonic() > deadline
    if code == 0:
        say(f"    done in {_minutes(spent)}")
    return code == 0 or cut_short


def _environment(docs: Path) -> dict[str, str]:
    """One thread for each library, and where figures go."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    usual = docs == ROOT / "docs"
    return (
        dict.fromkeys(threads, "1")
        | dict(os.environ)
        | ({} if usual else {"STRUCTSVM_PAPER": str(docs)})
    )


def _log(logs: Path, part: Part) -> Path:
    return logs / f"{part.name.replace(' ', '_')}.log"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small versions, in minutes")
    parser.add_argument("--fresh", action="store_true", help="forget what was computed before")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="in their commands")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin nothing after this"
    )
    options = parser.parse_args()
    raise SystemExit(main(options.quick, options.fresh, options.only, options.seconds))
