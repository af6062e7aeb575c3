"""What the benchmarks share: medians, one table, one list of goals as JSON."""

from __future__ import annotations

import csv
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Goal:
    """A measured comparison: ``ours`` against ``peer``, in the same run.

    Costs are in seconds unless the name states a unit. What is only to be known has no goal.
    """

    name: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    goal: float | None = None
    reached: bool | None = None

    @classmethod
    def at_least(cls, name: str, ours: float, peer: float, goal: float) -> Goal:
        """``peer / ours`` is to be at least ``goal``: how many times faster we are."""
        return cls(name, ours, peer, peer / ours, goal, peer / ours >= goal)

    @classmethod
    def at_most(cls, name: str, ours: float, peer: float, goal: float) -> Goal:
        """``ours / peer`` is to be at most ``goal``."""
        return cls(name, ours, peer, ours / peer, goal, ours / peer <= goal)

    @classmethod
    def against(cls, name: str, ours: float, peer: float) -> Goal:
        """``peer / ours``, to be known."""
        return cls(name, ours, peer, peer / ours)


def seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """Median wall time."""
    return seconds_in_turns(run, repeats=repeats, warm=False)[0]


def seconds_in_turns(
    *runs: Callable[[], Any], repeats: int = 5, warm: bool = True
) -> tuple[float, ...]:
    """Median wall time of each, over rounds in which each runs once: a busy machine slows all."""
    return _in_turns(runs, repeats, warm, time.perf_counter)


def cpu_seconds_in_turns(
    *runs: Callable[[], Any], repeats: int = 5, warm: bool = True
) -> tuple[float, ...]:
    """The same in CPU time, for jobs of one thread: what else the machine does matters less."""
    return _in_turns(runs, repeats, warm, time.process_time)


def _in_turns(
    runs: Sequence[Callable[[], Any]], repeats: int, warm: bool, clock: Callable[[], float]
) -> tuple[float, ...]:
    if warm:
        for run in runs:
            run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, record in zip(runs, times, strict=True):
            started = clock()
            run()
            record.append(clock() - started)
    return tuple(statistics.median(record) for record in times)


def printed_by(code: str, **environment: str) -> list[float]:
    """The numbers that a fresh interpreter prints: for first calls and for peak memory."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parent,
    )
    return [float(word) for word in done.stdout.split()]


def report(area: str, goals: Sequence[Goal]) -> None:
    """Print the goals, write benchmarks/results/<area>.json and add them to history.csv."""
    table = Table(title=area)
    for heading in ("name", "ours", "peer", "ratio", "goal", "reached"):
        table.add_column(heading, justify="left" if heading == "name" else "right")
    for goal in goals:
        reached = {True: "[green]yes", False: "[red]no", None: ""}[goal.reached]
        figures = (goal.ours, goal.peer, goal.ratio, goal.goal)
        table.add_row(goal.name, *("" if x is None else f"{x:.3g}" for x in figures), reached)
    Console(width=130).print(table)
    path = RESULTS / f"{area}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([asdict(goal) for goal in goals], indent=2) + "\n")
    _append_to_history(area, goals)


def _append_to_history(area: str, goals: Sequence[Goal]) -> None:
    """A row for each comparison, under the date and the commit of this run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    ).stdout.strip()
    today = datetime.date.today().isoformat()
    with (RESULTS / "history.csv").open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        for goal in goals:
            if goal.ratio is not None:
                figures = (goal.ours, goal.peer, goal.ratio)
                rows.writerow(
                    [
                        today,
                        commit,
                        area,
                        goal.name,
                        *(None if x is None else f"{x:.6g}" for x in figures),
                    ]
                )
