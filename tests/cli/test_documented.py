"""Every command line that the documentation or a help text shows is run as it stands."""

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_kit import TEST as LONG_TEST
from cli_kit import TRAIN as LONG_TRAIN
from cut_cases import disc, write_images
from media_files import write_films
from sklearn.datasets import make_blobs

from structsvm.cli import main
from structsvm.cli.usage import build_parser
from structsvm.io.npz import write_recording

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def beginning(recording):
    """The first segments of a recording, which are enough to run every line."""
    (changes,) = np.diff(recording.y).nonzero()
    T = int(changes[changes >= 80][0]) + 1
    return replace(recording, X=recording.X[:T], y=recording.y[:T])


TRAIN = list(map(beginning, LONG_TRAIN))
TEST = list(map(beginning, LONG_TEST))
BLOCKS = re.compile(r"^```bash *\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands():
    """Return the parsers of all commands."""
    (action,) = (a for a in build_parser()._actions if a.dest == "command")
    return action.choices


def shown_lines():
    """Return the command lines of the page and of the help texts, each once."""
    text = "".join(BLOCKS.findall(PAGE.read_text(encoding="utf-8")))
    found = [line for line in text.splitlines() if line.startswith("structsvm ")]
    for command in (build_parser(), *commands().values()):
        lines = (command.epilog or "").splitlines()
        found += [line.strip() for line in lines if line.startswith("  structsvm ")]
    return list(dict.fromkeys(re.sub(r" +#.*", "", line) for line in found))


@pytest.fixture(scope="module")
def place(folder, tmp_path_factory):
    """Return a folder with everything the examples speak of."""
    place = tmp_path_factory.mktemp("documented")
    for ours, theirs in ((TRAIN, "recordings"), (TEST, "others"), (TEST, "new")):
        (place / theirs).mkdir()
        for recording in ours:
            write_recording(recording, place / theirs / f"{recording.name}.npz")
    shutil.copy(folder / "m.structsvm", place / "my.structsvm")
    header = ",".join(TEST[0].features)
    np.savetxt(place / "new.csv", TEST[0].X, delimiter=",", header=header, comments="")
    _write_long_tables(place)
    _write_films(place)
    _write_scores(place)
    for i, recording in enumerate((*TRAIN, *TEST)):
        (place / "people" / f"{i // 2}").mkdir(parents=True, exist_ok=True)
        write_recording(recording, place / "people" / f"{i // 2}" / f"walk{i % 2}.npz")
    X, y = make_blobs(120, n_features=3, centers=8, random_state=0)
    pd.DataFrame(X, columns=list("abc")).assign(label=y).to_csv(place / "table.csv", index=False)
    known = [f"{recording.name},0,{len(recording.X)},1+" for recording in TRAIN]
    (place / "regions.csv").write_text("\n".join(["recording,start,end,changes", *known]) + "\n")
    rng = np.random.default_rng(0)
    write_images(place, [disc(rng, size=24) for _ in range(3)], ("images", "masks"))
    line = ["fit", "normalized-cut", place / "images", "--labels", place / "masks", "--quiet"]
    assert main([*map(str, line), "--lam", "0.02", "-o", str(place / "cuts.structsvm")]) == 0
    return place


def _write_long_tables(place):
    """Write a table of many recordings, and one whose labels are 1 where a segment begins."""
    frames = []
    for recording in TRAIN:
        frame = pd.DataFrame(recording.X, columns=recording.features)
        frames.append(frame.assign(subject=recording.name, t=range(len(frame)), label=recording.y))
    pd.concat(frames).to_csv(place / "long.csv", index=False)
    marked = frames[0].drop(columns=["subject", "t"])
    begins = np.diff(TRAIN[0].y, prepend=TRAIN[0].y[0]) != 0
    marked.assign(label=begins.astype(int)).to_csv(place / "marked.csv", index=False)
    own = frames[0].drop(columns=["subject", "t"]).assign(place="here")
    own.iloc[3:5, 0] = np.nan
    own.to_csv(place / "german.csv", sep=";", decimal=",", index=False)


def _write_scores(place):
    """Write scores of two states, and the bouts of some of the files."""
    rng = np.random.default_rng(0)
    rows = []
    for k, folder in enumerate(["scores"] * 5 + ["new_scores"]):
        (place / folder).mkdir(exist_ok=True)
        walks = np.repeat([0, 1, 0, 1, 0], rng.integers(15, 30, 5))
        p = np.clip(0.25 + 0.5 * walks + rng.normal(scale=0.2, size=walks.size), 0, 1)
        scores = pd.DataFrame({"Probability_walk": p, "Probability_rest": 1 - p})
        scores.to_csv(place / folder / f"r{k}.csv", index=False)
        ends = [0, *(np.flatnonzero(np.diff(walks)) + 1).tolist(), walks.size]
        states = ("rest", "walk", "rest", "walk", "rest")
        rows += zip([f"r{k}"] * 5, ends[:-1], ends[1:], states, strict=True) if k < 4 else ()
    table = pd.DataFrame(rows, columns=["recording", "start", "end", "label"])
    table.to_csv(place / "bouts.csv", index=False)


def _write_films(place):
    """Write two films with tables of change times, beside and in a folder of films."""
    changes = write_films(place)
    (place / "show.csv").write_text("change\n" + "".join(f"{t}\n" for t in changes["show"]))
    (place / "shows").mkdir()
    for name in changes:
        shutil.copy(place / f"{name}.mkv", place / "shows")
    rows = []
    for name, times in changes.items():
        rows += [f"{name},{t}\n" for t in times]
    (place / "shows" / "changes.csv").write_text("recording,change\n" + "".join(rows))


@pytest.mark.parametrize("line", shown_lines())
def test_command_lines_of_documentation_and_help_run(place, monkeypatch, capsys, line):
    monkeypatch.chdir(place)
    words = shlex.split(line, comments=True)
    words = words[: words.index(">")] if ">" in words else words
    if words[1] == "new":
        shutil.rmtree(place / f"structsvm-{words[3]}", ignore_errors=True)
    written = [words[words.index(option) + 1] for option in ("-o", "--output") if option in words]
    for name in ["demo", *written]:  # of the examples before
        if (place / name).is_dir():
            shutil.rmtree(place / name)
        (place / name).unlink(missing_ok=True)
    if words[1] == "label" or "--label" in words:  # the page would be answered until Ctrl-C
        monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    few = {"try": ["--minutes", "0.02"], "demo": ["--recordings", "2"]}.get(words[1], [])
    assert main([*words[1:], *few]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_every_command_is_documented_with_an_example():
    page = PAGE.read_text(encoding="utf-8")
    lines = shown_lines()
    for name, command in commands().items():
        assert re.search(rf"^## .*`{name}`", page, re.MULTILINE), f"no heading names {name}"
        assert any(line.startswith(f"structsvm {name}") for line in lines)
        assert "structsvm " in (command.epilog or ""), f"the help of {name} has no example"
