"""Predictions beside what they were made from are not read by the next command."""

import numpy as np
import pytest
from cli_kit import TEST
from PIL import Image

from structsvm import MetricLearner, NormalizedCut, save
from structsvm.io import read_images, write_recording
from structsvm.io.files import find_recordings


@pytest.fixture
def recordings(tmp_path):
    (tmp_path / "r").mkdir()
    for i, recording in enumerate(TEST[:2]):
        write_recording(recording, tmp_path / "r" / f"p{i}.npz")
    return tmp_path / "r"


@pytest.fixture
def images(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "im").mkdir()
    for i in range(2):
        pixels = rng.integers(0, 60, (12, 16, 3), dtype=np.uint8)
        pixels[3:9, 4:12] += 180
        Image.fromarray(pixels).save(tmp_path / "im" / f"i{i}.png")
    return tmp_path / "im"


def test_tables_of_segments_are_no_recordings(run, recordings):
    assert run("predict m.structsvm", recordings, "-o", recordings)[0] == 0
    found = find_recordings(recordings)
    assert found.names == ("p0", "p1")
    assert [path.name for path in found.predictions] == ["p0_segments.csv", "p1_segments.csv"]
    code, out, err = run("predict m.structsvm", recordings)
    assert (code, len(out.splitlines())) == (0, 2)
    assert "not read: 'p0_segments.csv', 'p1_segments.csv'" in err
    assert "skipped" not in err


def test_label_maps_and_overlays_are_no_images(run, images, tmp_path):
    pixels = [image.image for image in read_images(images, need_labels=False)]
    masks = [np.pad(np.ones((6, 8), dtype=int), ((3, 3), (4, 4)))] * 2
    model = tmp_path / "c.structsvm"
    save(MetricLearner(NormalizedCut(), lam=0.1).fit(pixels, masks), model)
    assert run("predict", model, images, "-o", images)[0] == 0
    assert len(list(images.iterdir())) == 6
    assert [image.name for image in read_images(images, need_labels=False)] == ["i0", "i1"]
    assert run("evaluate", model, images, "--labels", images)[0] == 0
    code, _, err = run("predict", model, images, "--labels", images, "-o", images, "--force")
    assert code == 1
    assert "i0_mask.png is read by" in err
    assert "never overwritten" in err


def test_predictions_that_are_learned_from_are_named(run, tmp_path):
    """Their segments were a feature like others, which tells the labels."""
    assert run("predict m.structsvm train -o", tmp_path / "out")[0] == 0
    code, _, err = run(
        "fit change-point",
        tmp_path / "out",
        "--baselines",
        "none",
        "-o",
        tmp_path / "again",
        "--metric",
        "diagonal",
    )
    assert code == 0, err
    assert (
        "'segment' only rises, or holds whole numbers and is called as identifiers"
        in err.replace("\n", " ")
    )
    assert "--ignore segment" in err
