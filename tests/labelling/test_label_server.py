"""The server of the page answers its own page alone, and loses nothing when it is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from label_kit import Asking, served
from media_files import tone, write_media
from programs import Command

import structsvm
from structsvm.cli import main
from structsvm.datasets import relevant_changes
from structsvm.io import read_intervals
from structsvm.labelling.pyramid import Pyramid

T = 200


def write(folder, names=("ann", "ben", "<b>cy")):
    folder.mkdir(exist_ok=True)
    some = relevant_changes(len(names), n_samples=T, n_features=3, n_relevant=1, random_state=0)
    for name, one in zip(names, some, strict=True):
        np.savez(folder / f"{name}.npz", X=one.X, features=np.array(one.features))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(write(tmp_path_factory.mktemp("served") / "walks")) as server:
        yield server


@pytest.fixture
def page(server):
    asking = Asking(server.address)
    assert asking.open()[0] == 200
    yield asking
    asking.close()


def test_the_server_answers_this_machine_only(server):
    assert server._socket.getsockname()[0] == "127.0.0.1"
    assert server.address.startswith(f"http://127.0.0.1:{server._socket.getsockname()[1]}/")
    assert len(server.token) >= 32


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"token": "guessed"}, "lacks its token"),
        ({"token": ""}, "lacks its token"),
        ({"Host": "evil.example"}, "not its own"),
        ({"Host": "localhost:1"}, "not its own"),
        ({"Origin": "http://evil.example"}, "from elsewhere"),
        ({"Origin": "null"}, "from elsewhere"),
        ({"data": {}, "Origin": "http://127.0.0.1:1"}, "from elsewhere"),
        ({"data": {}, "Origin": ""}, "from elsewhere"),
    ],
)
@pytest.mark.parametrize("path", ["", "change", "main.js"])
def test_the_server_refuses_requests_of_other_pages(server, path, about, said):
    status, headers, text = Asking(server.address).ask(path, **about)
    assert status == 403
    assert said in text
    assert "Access-Control-Allow-Origin" not in headers
    assert "default-src 'self'" in headers["Content-Security-Policy"]


def test_the_page_loads_its_own_files_and_no_others(server):
    asking = Asking(server.address)
    for path, kind in (
        ("", "html"),
        ("main.js", "javascript"),
        ("draw.js", "script"),
    ):
        status, headers, text = asking.ask(path)
        assert status == 200
        assert kind in headers["Content-Type"]
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "https://" not in text
    for path in ("../kept.py", "%2e%2e/kept.py", "/etc/passwd", "kept.py", "assets/main.js"):
        assert asking.ask(path)[0] in (404, 405)


def test_a_second_page_is_refused_in_a_sentence_until_the_first_is_closed(server):
    first, second = Asking(server.address), Asking(server.address)
    assert first.open()[0] == 200
    status, said = second.open()
    assert (status, said[:31]) == (409, "This folder is open in another ")
    old = first.news
    first.close()
    assert second.open()[0] == 200
    second.news, new = old, second.news
    assert second.post("change", labels={})[0] == 409
    second.news = new
    assert second.post("change", labels={})[0] == 200
    second.close()


def test_a_change_of_labels_is_in_the_answer_and_in_the_table(server, page):
    names = [one["name"] for one in page.news["recordings"]]
    assert sorted(names) == sorted(["ann", "ben", "<b>cy"])
    status, answer = page.post("change", labels={"<b>cy": [[0, 50, " <i>a\n b "]]})
    assert (status, answer["labels"]) == (200, {"<b>cy": [[0, 50, "<i>a b"]]})
    assert answer["can"] == {"undo": True, "redo": False}
    first = read_intervals(server.kept.table)["<b>cy"][0]
    assert (first.start, first.end, first.label) == (0.0, 50.0, "<i>a b")
    status, said = page.post("change", labels={"ann": [[0, 50, "a"], [40, 60, "b"]]})
    assert status == 409
    assert "overlap" in said
    assert page.post("step", by=-1)[1]["labels"] == {"<b>cy": []}
    assert page.post("step", by=1)[1]["labels"] == {"<b>cy": [[0, 50, "<i>a b"]]}


def test_a_full_disk_is_reported_and_changes_no_labels(server, page, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "labels.csv")

    before = server.kept.segments
    with monkeypatch.context() as patched:
        patched.setattr("structsvm.labelling.kept.write_intervals", full)
        status, said = page.post("change", labels={"ann": [[0, 50, "a"]]})
    assert status == 409
    assert "No space left" in said
    assert server.kept.segments == before
    assert page.post("change", labels={"ann": [[0, 50, "a"]]})[0] == 200


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1000, 30_001])
def test_traces_hold_the_extremes_of_all_shown_samples(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.nan
    pyramid = Pyramid(X)
    for start, end in ((0, n), (n // 3, n // 3 + 1), (n // 4, n - n // 5), (max(n - 9, 0), n)):
        traces = pyramid.traces(start, end, 50, slice(0, 3))
        assert len(traces) == 3
        for trace, values in zip(traces, X.T, strict=True):
            high = trace["high"] or trace["low"]
            assert trace["from"] <= start < end <= trace["to"]
            assert len(high) == len(trace["low"]) <= 50 + 1
            step = (trace["to"] - trace["from"]) // len(high)
            edges = np.arange(trace["from"], trace["to"] + 1, step)
            unit = (trace["max"] - trace["min"]) / 999
            for a, b, low, top in zip(edges, edges[1:], trace["low"], high, strict=False):
                there = values[a:b][~np.isnan(values[a:b])]
                if not there.size:
                    assert low is None
                    continue
                assert trace["min"] + unit * low == pytest.approx(there.min(), abs=unit)
                assert trace["min"] + unit * top == pytest.approx(there.max(), abs=unit)


def test_typed_options_apply_to_reading_and_learning_of_the_page(tmp_path):
    """With times in seconds, a column that is no feature, and labels that the tables have."""
    folder = tmp_path / "people"
    truths = {}
    some = relevant_changes(4, n_samples=T, n_features=3, n_relevant=2, jump=4.0, random_state=1)
    for who, one in zip(("ann/a", "ann/b", "ben/a", "ben/b"), some, strict=True):
        path = folder / f"{who}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame(one.X, columns=["x", "y", "z"]).assign(
            t=np.arange(T) / 4, place="here"
        )
        frame.assign(label="old").to_csv(path, index=False, sep=";")
        edges = [0, *(np.flatnonzero(np.diff(one.y)) + 1).tolist(), T]
        truths[who] = [[*pair, ""] for pair in pairwise(edges)]
    with served(folder, time_column="t", ignore=["place"]) as server:
        page = Asking(server.address)
        known = page.open()[1]["recordings"]
        assert [one["name"] for one in known] == list(truths)
        assert known[0]["features"] == ["x", "y", "z"]
        assert known[0]["time"]["values"] == [0.0, (T - 1) / 4]
        marked = {name: truths[name] for name in list(truths)[:3]}
        assert page.post("change", labels=marked)[0] == 200
        assert page.post("learn")[0] == 200
        news = [page.hear()]
        while "ended" not in news[-1]:
            news.append(page.hear())
        page.close()
        (learned,) = (one["learned"] for one in news if "learned" in one)
        (judged,) = (one["judged"] for one in news if "judged" in one)
        assert learned["labelled"] == 0.75
        assert judged["loss"] >= 0
        assert server.kept.learned == [learned | judged]
    fitted = tmp_path / "fitted.structsvm"
    line = f"fit change-point {folder} --labels {folder}/labels --baselines none --quiet"
    assert main([*line.split(), "--time-column", "t", "--ignore", "place", "-o", str(fitted)]) == 0
    there, here = map(structsvm.load, (folder / "labels" / "model.structsvm", fitted))
    assert np.array_equal(there.metric_.matrix, here.metric_.matrix)
    assert there.metric_.price == here.metric_.price


# ---- the command, in a process of its own


class Anew:
    """The command in a Python that is started anew, as a user starts it."""

    def __init__(self, folder):
        line = [sys.executable, "-m", "structsvm", "label", str(folder), "--json"]
        usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(line, env=usual, **pipes)
        self.pid = self.process.pid
        text = ""
        while not text.endswith("}\n"):
            text += self.process.stdout.readline() or pytest.fail(self.process.stderr.read())
        self.page = Asking(json.loads(text)["address"])

    def ended(self):
        """Its status, and what it has said, once it has ended."""
        _, said = self.process.communicate()
        return self.process.returncode, said


class Forked(Command):
    """The same, in a process that has loaded the library."""

    def __init__(self, folder, out):
        super().__init__(f"label {folder} --json", out.parent, out)
        self.pid = self.process.pid
        while not out.exists() or not out.read_text().endswith("}\n"):
            assert self.process.is_alive(), self.told.read_text()
        self.page = Asking(json.loads(out.read_text())["address"])


@pytest.fixture
def begin():
    """Return a function that begins a command, which ends with the test, whatever fails in it."""
    begun = []

    def begin(kind, *arguments):
        begun.append(kind(*arguments))
        return begun[-1]

    yield begin
    for command in begun:
        command.process.kill()


def test_a_killed_server_loses_no_answered_change(tmp_path, capsys, monkeypatch, begin):
    folder = write(tmp_path / "walks")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    kept = []
    for k in range(3):
        command = begin(Forked, folder, tmp_path / f"{k}.out")
        page = command.page
        assert page.open()[1]["known"].get("ann", []) == kept
        for j in range(4):
            kept = [[0, 10 + j, f"state {k}"], [50, 60 + j, "rest"]]
            assert page.post("change", labels={"ann": kept})[0] == 200
        if k == 1:  # a change that nobody has seen answered
            with socket.create_connection((page.parts.hostname, page.parts.port)) as half:
                half.sendall(f"POST {page.parts.path}change HTTP/1.1\r\n".encode())
        os.kill(command.pid, signal.SIGKILL)
        assert command.ended()[0] == -signal.SIGKILL
        page.close()
    command = begin(Anew, folder)
    page = command.page
    assert page.open()[1]["known"]["ann"] == kept
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)  # if it were not refused
    assert main(["label", str(folder)]) == 1
    assert "is open in another structsvm label" in capsys.readouterr().err
    os.kill(command.pid, signal.SIGINT)
    status, said = command.ended()
    page.close()
    assert status == 0, said
    assert "Traceback" not in said
    assert {p: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before
    left = sorted(path.name for path in (folder / "labels").iterdir())
    assert left == [".history.jsonl", "labels.csv"]


@pytest.mark.parametrize("there", ["nothing", "prose", "a file"])
def test_the_server_refuses_a_folder_without_recordings(tmp_path, capsys, there):
    folder = tmp_path / "empty"
    if there == "a file":
        folder.write_text("x,label\n1,a\n2,b\n")
    else:
        folder.mkdir()
    if there == "prose":
        (folder / "notes.docx").write_text("no recording")
    assert main(["label", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "error: " in said
    assert "Traceback" not in said
    assert not (tmp_path / "empty" / "labels").exists()


def test_sound_is_read_again_beside_the_labels_that_were_kept(tmp_path):
    folder = tmp_path / "sound"
    folder.mkdir()
    for name in ("ann", "ben"):
        write_media(folder / f"{name}.wav", tone(440, 6))
    kept = [[0, 3, "low"], [3, 5, "high"]]
    for known in ([], kept):
        with served(folder) as server:
            page = Asking(server.address)
            news = page.open()[1]
            assert [one["name"] for one in news["recordings"]] == ["ann", "ben"]
            assert news["known"]["ann"] == known
            assert page.post("change", labels={"ann": kept})[0] == 200
            page.close()
