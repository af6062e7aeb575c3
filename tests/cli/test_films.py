"""Films at the command line: from a file and a table of change times to times of changes."""

import json
from itertools import pairwise

import numpy as np
import pytest
from media_files import LENGTHS, tone, write_films, write_media


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Return a folder of two films, with tables of change times and of stretches."""
    folder = tmp_path_factory.mktemp("films")
    (folder / "changes").mkdir()
    for name, changes in write_films(folder).items():
        lines = "".join(f"{change}\n" for change in changes)
        (folder / "changes" / f"{name}.csv").write_text(f"change\n{lines}")
        edges = pairwise([0, *changes, sum(LENGTHS[name])])
        rows = [f"{a},{b},{'ab'[i % 2]}\n" for i, (a, b) in enumerate(edges)]
        (folder / f"{name}_states.csv").write_text("start,end,label\n" + "".join(rows))
    return folder


def ends(name):
    return np.cumsum(LENGTHS[name]).tolist()


def test_from_a_film_to_times(run, films, tmp_path):
    model = tmp_path / "show.structsvm"
    learned = "--metric diagonal --baselines none --quiet"
    labels = films / "changes" / "show.csv"
    code, _, err = run(
        f"fit change-point {learned} -o", model, films / "show.mkv", "--labels", labels
    )
    assert code == 0, err
    code, out, _ = run("predict --json", model, films / "new.mkv")
    (found,) = json.loads(out)["recordings"]
    assert found["breakpoints"] == ends("new")
    assert found["time"] == "seconds"
    assert found["change_times"] == [str(end) for end in ends("new")[:-1]]
    spoken = write_media(tmp_path / "spoken.mkv", tone(440, 9))
    code, _, err = run("predict", model, spoken)
    assert code == 1
    assert "it has no video stream, only audio, but features that were learned from" in err
    table = tmp_path / "segments.csv"
    assert run("predict", model, films / "new.mkv", "-o", table)[0] == 0
    assert table.read_text().splitlines()[-1] == "new,5,42,50,42,50"
    code, out, _ = run(
        "evaluate --json", model, films / "new.mkv", "--labels", films / "new_states.csv"
    )
    assert json.loads(out)["learned"]["loss"] == 0


def test_a_film_and_its_labels_are_enough(run, films, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    film, labels = films / "show.mkv", films / "changes" / "show.csv"
    code, _, err = run("fit change-point", film, "--labels", labels)
    assert code == 0, err
    assert "saved in show.structsvm" in err
    code, out, _ = run("predict show.structsvm", films / "new.mkv")
    assert (code, out.startswith("new: "), "(seconds " in out) == (0, True, True)
    code, _, err = run("fit change-point", film, "--labels", labels)
    assert code == 1
    assert "--force" in err


def test_one_stream_is_remembered(run, films, tmp_path):
    model = tmp_path / "sound.structsvm"
    fit = "fit change-point --set files.stream=audio --metric diagonal --baselines none --quiet -o"
    code, _, err = run(
        fit, model, films / "show.mkv", films / "new.mkv", "--labels", films / "changes"
    )
    assert code == 0, err
    spoken = write_media(tmp_path / "spoken.mkv", np.concatenate([tone(440, 9), tone(988, 8)]))
    code, out, _ = run("predict", model, spoken)
    assert out == "spoken: 9 17 (seconds 9)\n"
