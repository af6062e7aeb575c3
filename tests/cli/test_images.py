"""Normalized cuts of images from the command line: folders of images and of masks."""

import json
import sys

import numpy as np
import pytest
from cases import cases
from cut_cases import disc, write_images
from PIL import Image

from structsvm.cli import inputs, main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with images, masks and a model."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for name, n in (("learn", 5), ("test", 6)):
        write_images(folder / name, [disc(rng) for _ in range(n)])
    line = f"fit normalized-cut {folder / 'learn'} -o {folder / 'm.structsvm'} --lam 0.02 --quiet"
    assert main([*line.split(), "--set", "problem.image.n_superpixels=40"]) == 0
    return folder


@pytest.mark.parametrize("command", ["fit", "try"])
def test_a_missing_library_is_named_before_images_are_read(refused, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    monkeypatch.setattr(inputs, "read_in_time", None)
    said = refused(f"{command} normalized-cut learn -o missing.structsvm")
    assert "superpixels needs skimage: pip install 'structsvm-partitioning[images]'" in said


@pytest.mark.parametrize("command", ["fit", "try"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0], "each of 5 label maps has a single label"),
        ([0, 255], "each of 5 label maps has a single label"),
        (None, "no label map of that name in"),
    ],
)
def test_labels_that_cannot_teach_are_refused_before_images_are_read(
    refused, tmp_path, monkeypatch, command, labels, message
):
    folder = tmp_path / "i"
    halves = np.repeat(labels or [0, 1], 16)
    images = [disc(np.random.default_rng(k))[0] for k in range(5)]
    write_images(folder, [(image, np.tile(halves, (32, 1))) for image in images])
    if labels is None:
        (folder / "mask" / "p4.png").unlink()
    monkeypatch.setattr(inputs, "read_in_time", None)
    line = f"{command} normalized-cut {folder} -o {tmp_path}/o --set files.missing_labels=255"
    assert message in refused(line)


def test_fit_of_images_tells_settings_and_results(done):
    out, err = done(
        "fit normalized-cut learn/img --labels learn/mask -o n.structsvm "
        "--set problem.image.n_superpixels=40 --set problem.kappa=0.5 --baselines none "
        "--json --metric diagonal --lam 0.2 --set solver=cccp --set solver.tol=1e-4"
    )
    described = json.loads(out)
    assert described["problem"]["settings"]["kappa"] == 0.5
    assert described["solution"]["upper"] < described["solution"]["null"]
    assert "learned from 5 images" in err
    assert "structsvm evaluate n.structsvm PATH" in err


def test_compare_of_cuts_shows_objectives(run, done):
    line = "compare normalized-cut learn --set problem.image.n_superpixels=40 --set lam=0.02"
    line += " --set solver.tol=0.01"
    out, _ = done(f"{line} -o gaps.svg")
    assert "objective" in out
    assert "gap" not in out
    out, _ = done(f"{line} --json --solvers cccp")
    (row,) = json.loads(out)["solvers"]
    assert row["solver"] == "cccp"
    assert row["gap"] is None
    assert row["upper"] > 0


def test_predict_writes_label_maps_and_overlays(run, folder):
    code, out, _ = run("predict m.structsvm test/img -o out")
    assert (code, out) == (0, "")
    greys = np.asarray(Image.open(folder / "out" / "p3_mask.png"))
    assert set(np.unique(greys)) == {0, 255}
    assert np.asarray(Image.open(folder / "out" / "p3_overlay.png")).shape == (32, 32, 3)
    assert run("predict m.structsvm test/img/p3.png -o three.npy --n-clusters 3")[0] == 0
    assert set(np.unique(np.load(folder / "three.npy"))) == {0, 1, 2}
    assert run("predict m.structsvm test/img/p3.png -o one.npy")[0] == 0
    np.testing.assert_array_equal(np.load(folder / "one.npy") * 255, greys)
    code, out, _ = run("predict m.structsvm test")
    assert out.startswith("p0: 2 parts of ")
    assert len(json.loads(run("predict m.structsvm test --json")[1])["images"]) == 6


def test_warnings_about_images_name_their_files(run, refused, done, folder):
    """What is wrong or strange about one is told by the name of its file."""
    odd = folder / "odd"
    odd.mkdir()
    Image.new("RGB", (50, 40), (9, 9, 9)).save(odd / "plain.png")
    pixels = Image.open(folder / "test" / "img" / "p1.png")
    pixels.convert("RGBA").save(odd / "see-through.png")
    pixels.convert("P").save(odd / "palette.png")
    _, err = done("predict m.structsvm odd -o cut")
    assert err.count("odd/plain.png: all nodes look the same") == err.count("warning") == 1
    assert np.asarray(Image.open(folder / "cut" / "plain_mask.png")).shape == (40, 50)
    for name in ("see-through", "palette"):
        greys = np.asarray(Image.open(folder / "cut" / f"{name}_mask.png"))
        assert set(np.unique(greys)) == {0, 255}
    pixels.convert("L").save(odd / "grey.png")
    assert "odd/grey.png has the features L, x, y, " in refused("predict m.structsvm odd/grey.png")
    pixels.crop((0, 0, 1, 1)).save(odd / "one.png")
    said = refused("predict m.structsvm odd/one.png")
    assert "odd/one.png has 1 node: it cannot have 2 " in said
    assert run("predict m.structsvm odd/one.png --n-clusters 1")[0] == 0
    _, err = done("predict m.structsvm odd/palette.png -o map.png")
    assert "parts of 1 image are in map.png" in err


@cases(
    ("fit normalized-cut learn/img -o x.structsvm", "p0.png: no label map"),
    ("predict m.structsvm test/img -o one.png", "one file for 6 images"),
    ("predict m.structsvm test/img/p1.png --n-clusters 2000", "test/img/p1.png has "),
    ("plot m.structsvm test/img/p1.png -o x.png --n-clusters true", "needs the true labels"),
)
def test_commands_that_images_do_not_allow_are_refused(refused, line, message):
    err = refused(line)
    assert message in err
    assert "Traceback" not in err
