"""What is read is checked once and standardised once, whatever the command.

Classifiers, which scale what they see by themselves, are left out.
"""

import json

import numpy as np
import pytest
from cli_kit import TEST, TRAIN, paint
from PIL import Image
from sklearn.datasets import load_iris

from structsvm.cli import try_out
from structsvm.data import reading
from structsvm.data.samples import Standardizer
from structsvm.learner.inputs import Inputs
from structsvm.problems import normalized_cut


@pytest.fixture
def counted(monkeypatch):
    """Return counts of the arrays that were checked, and of those that were standardised."""
    counts = {"checked": 0, "standardised": 0}
    check, standardise = reading.check_samples, Standardizer.__call__
    standardise_all = Standardizer.of_stack

    def checked(Xs, *args, **kwargs):
        found = check(Xs, *args, **kwargs)
        counts["checked"] += len(found[0])
        return found

    def standardised(self, X):
        counts["standardised"] += 1
        return standardise(self, X)

    def standardised_together(self, Xs):
        before, found = counts["standardised"], standardise_all(self, Xs)
        counts["standardised"] = before + len(Xs)
        return found

    monkeypatch.setattr(reading, "check_samples", checked)
    monkeypatch.setattr(Standardizer, "__call__", standardised)
    monkeypatch.setattr(Standardizer, "of_stack", standardised_together)
    return counts


@pytest.mark.parametrize(
    "line",
    [
        "fit change-point train --metric diagonal -q --baselines none -o {out}",
        "fit change-point train --context moments -q --baselines none --set features.n_moments=2 "
        "-o {out}",
        "fit change-point train -q --baselines none --json --set standardize=training -o {out}",
        "predict {model} test --quiet",
        "predict {model} test --quiet -o {out}",
        "evaluate {model} test --quiet",
        "evaluate {model} test --quiet --n-clusters true --json",
        "report {model} test --quiet -o {out}.html",
        "plot {model} test/synthetic_00.npz --quiet -o {out}.png",
        "plot {model} test/synthetic_00.npz --show features --quiet -o {out}.png",
        "compare change-point train --metric diagonal --set solver.tol=0.1 --quiet",
    ],
)
def test_recordings_are_checked_and_standardised_once(run, counted, tmp_path, line):
    model = tmp_path / "m.structsvm"
    if "{model}" in line:
        fit = "fit change-point train --metric diagonal -q --baselines none -o"
        assert run(fit, model)[0] == 0
        counted.update(checked=0, standardised=0)
    code, _, err = run(line.format(out=tmp_path / "out", model=model))
    assert (code, err) == (0, "")
    n = 1 if line.startswith("plot") else len(TRAIN)
    assert len(TRAIN) == len(TEST)
    assert counted == {"checked": n, "standardised": n}


def test_a_table_that_was_not_learned_from_is_checked_once(run, counted, tmp_path):
    """It is standardised twice: its groups of rows are decoded, and then the whole."""
    X, y = load_iris(return_X_y=True)
    for name, rows in (("learn", slice(0, None, 2)), ("other", slice(1, None, 2))):
        np.savez(tmp_path / f"{name}.npz", X=X[rows], y=y[rows])
    model = tmp_path / "t.structsvm"
    assert run(f"fit clustering {tmp_path / 'learn.npz'} --quiet -o", model)[0] == 0
    assert counted == {"checked": 1, "standardised": 1}
    counted.update(checked=0, standardised=0)
    code, out, err = run(f"evaluate {model} {tmp_path / 'other.npz'} --quiet --json")
    assert (code, err) == (0, "")
    assert json.loads(out)["learned_again"] is False
    assert counted == {"checked": 1, "standardised": 2}


@pytest.fixture
def checked_images(monkeypatch):
    """Return a list with one entry for each image that was made a graph."""
    made, as_graph = [], normalized_cut.as_graph

    def counting(x, image):
        made.append(1)
        return as_graph(x, image)

    monkeypatch.setattr(normalized_cut, "as_graph", counting)
    return made


def test_try_checks_each_recording_once_though_it_splits_them(run, counted, tmp_path):
    code, _, err = run(f"try change-point train -q -o {tmp_path}/out")
    assert code == 0, err
    assert counted["checked"] == len(TRAIN)


def test_verdict_report_and_predictions_of_try_share_what_is_prepared(run, monkeypatch, tmp_path):
    prepared, prepare, compare = [], Inputs.__call__, try_out._compare

    def counting(self, samples):
        prepared.append(len(samples))
        return prepare(self, samples)

    def compared(*given):
        prepared.clear()
        return compare(*given)

    monkeypatch.setattr(Inputs, "__call__", counting)
    monkeypatch.setattr(try_out, "_compare", compared)
    code, _, err = run(f"try change-point train -q -o {tmp_path}/out")
    assert code == 0, err
    assert prepared == [2]


@pytest.mark.parametrize(("split", "n_clusters"), [("rows", 2), ("clusters", 8)])
def test_try_checks_a_table_once_though_it_splits_it(run, counted, tmp_path, split, n_clusters):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_clusters), 16)
    X = rng.normal(size=(n_clusters, 2))[y] + rng.normal(size=(y.size, 2))
    np.savez(tmp_path / "t.npz", X=X, y=y)
    code, _, err = run(f"try clustering {tmp_path}/t.npz --split {split} -q -o {tmp_path}/out")
    assert code == 0, err
    assert counted["checked"] == 1


def test_try_makes_a_graph_of_each_image_once(run, checked_images, tmp_path):
    rng = np.random.default_rng(0)
    for kind in ("img", "mask"):
        (tmp_path / "images" / kind).mkdir(parents=True)
    for i in range(6):
        image, mask = paint(rng)
        Image.fromarray(image).save(tmp_path / "images" / "img" / f"p{i}.png")
        Image.fromarray(np.uint8(255) * mask).save(tmp_path / "images" / "mask" / f"p{i}.png")
    options = "--set problem.image.n_superpixels=40 -q"
    code, _, err = run(f"try normalized-cut {tmp_path}/images {options} -o {tmp_path}/out")
    assert code == 0, err
    assert len(checked_images) == 6
