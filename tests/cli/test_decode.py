"""``structsvm decode``: scores and labels of some files in, segments of all out."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from recording_cases import NAMES, recordings_of_states, scores_of_states

from structsvm import load

STATES = ["rest", "turn", "walk"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with scores of six files, four of which are labelled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores").mkdir()
    rows = []
    for i, X in enumerate(recordings_of_states(6, np.random.default_rng(0), 0.8)):
        table = pd.DataFrame(scores_of_states(X), columns=[f"Probability_{s}" for s in STATES])
        table.to_csv(tmp_path / "scores" / f"m{i}.csv", index=False)
        ends = [0, *np.flatnonzero(NAMES[1:] != NAMES[:-1]) + 1, len(NAMES)]
        if i < 4:
            pairs = pairwise(ends)
            rows += [(f"m{i}", a, b, NAMES[a]) for a, b in pairs]
    columns = ["recording", "start", "end", "label"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "bouts.csv", index=False)
    return tmp_path


def test_decode_writes_segments_and_a_decoder_from_scores_and_labels(done, folder):
    done("decode scores --labels bouts.csv -o out")
    made = sorted(path.name for path in (folder / "out").iterdir())
    assert made == ["bouts.csv", "decoder.structsvm", *(f"m{i}_segments.csv" for i in range(6))]
    bouts = pd.read_csv(folder / "out" / "bouts.csv")
    assert bouts["recording"].unique().tolist() == [f"m{i}" for i in range(6)]
    assert bouts["state"].iloc[-1] == NAMES[-1]
    found = pd.read_csv(folder / "out" / "m5_segments.csv")
    assert (found["state"] == NAMES).mean() > 0.9
    out, _ = done("predict out/decoder.structsvm scores/m5.csv")
    assert "rest until" in out


def test_the_baselines_smoothed_by_hand_are_saved_with_the_decoder(done, folder):
    _, err = done("decode scores --labels bouts.csv -o out")
    assert "not stored" not in err
    assert {"largest-score", "smoothed-scores"} <= {*load("out/decoder.structsvm").baselines_}


def test_decode_reads_a_label_file_in_the_folder_of_the_scores(run, folder):
    (folder / "bouts.csv").rename(folder / "scores" / "bouts.csv")
    code, out, _ = run("decode scores --labels scores/bouts.csv -o out --json")
    assert code == 0
    assert [one["name"] for one in json.loads(out)["recordings"]] == [f"m{i}" for i in range(6)]


def test_fit_asks_for_labels_of_every_file(run, folder):
    code, _, err = run("fit change-point scores --labels bouts.csv --method decoder -o d.structsvm")
    assert code == 1
    assert "nothing about m4" in err


def test_labels_of_none_of_the_files_are_refused(run, folder):
    table = pd.read_csv("bouts.csv")
    table["recording"] = "other" + table["recording"]
    table.to_csv("bouts.csv", index=False)
    code, _, err = run("decode scores --labels bouts.csv -o out")
    assert code == 1
    assert "nothing about any of 6 recordings" in err


def two_behaviours(folder):
    """Write scores of two behaviours that overlap, as SimBA does, and bouts of three of four."""
    rng = np.random.default_rng(0)
    (folder / "mice").mkdir()
    rows = []
    for i in range(4):
        truth = {"sniff": np.repeat([0, 1, 0, 1], 20), "rear": np.repeat([0, 1, 0], [30, 20, 30])}
        noisy = {k: np.clip(y + rng.normal(scale=0.35, size=80), 0, 1) for k, y in truth.items()}
        table = pd.DataFrame({f"Probability_{k}": p for k, p in noisy.items()})
        table.to_csv(folder / "mice" / f"m{i}.csv", index=False)
        for name, y in truth.items() if i < 3 else ():
            edges = np.flatnonzero(np.diff(y, prepend=0, append=0))
            rows += [(f"m{i}", a, b, name) for a, b in edges.reshape(-1, 2).tolist()]
    columns = ["recording", "start", "end", "label"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "overlapping.csv", index=False)


def test_overlapping_behaviours_are_decoded_one_by_one(done, folder):
    two_behaviours(folder)
    done("decode mice --labels overlapping.csv -o out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["rear", "sniff"]
    found = pd.read_csv(folder / "out" / "sniff" / "m3_segments.csv")["state"]
    assert ((found == "sniff") == np.repeat([False, True] * 2, 20)).mean() > 0.95
    found = pd.read_csv(folder / "out" / "rear" / "m3_segments.csv")["state"]
    assert ((found == "rear") == np.repeat([False, True, False], [30, 20, 30])).mean() > 0.95
    assert (folder / "out" / "rear" / "decoder.structsvm").is_file()


@pytest.mark.parametrize("separator", [",", "\t"])
def test_decode_reads_one_probability_a_line(done, folder, separator):
    (folder / "voice").mkdir()
    rows = []
    for i in range(4):
        rng = np.random.default_rng(i)
        p = np.clip(np.repeat([0.1, 0.9, 0.1], 20) + rng.normal(scale=0.2, size=60), 0, 1)
        np.savetxt(folder / "voice" / f"v{i}.csv", p, fmt="%.4f", delimiter=separator)
        bouts = [(0, 20, "silence"), (20, 40, "speech"), (40, 60, "silence")]
        rows += [(f"v{i}", *bout) for bout in bouts]
    columns = ["recording", "start", "end", "label"]
    pd.DataFrame(rows[:9], columns=columns).to_csv(folder / "speech.csv", index=False)
    done("decode voice --labels speech.csv -o out")
    found = pd.read_csv(folder / "out" / "v3_segments.csv")
    assert (found["state"] == np.repeat(["silence", "speech", "silence"], 20)).all()
