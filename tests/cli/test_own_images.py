"""Images with many parts from the command line, and how long it takes to cut them."""

import json

import numpy as np
import pytest
from cut_cases import write_images
from PIL import Image

from structsvm import load
from structsvm.cli import main
from structsvm.io import read_images

HUES = np.array([[1.0, 0.8, 0.6], [0.6, 0.8, 1.0], [0.7, 1.0, 0.6], [1.0, 1.0, 0.5]])


def stripes(rng, parts):
    """Return an image of upright stripes, under patches of light and shade, and its label map."""
    mask = np.repeat(np.arange(parts), 48 // parts)[None, :].repeat(32, axis=0)
    light = 0.4 + 0.6 * np.kron(rng.random((4, 6)), np.ones((8, 8)))
    return np.uint8(255 * light[..., None] * HUES[mask]), np.uint8(60 * mask)


FEW = "--set problem.image.n_superpixels=40 --baselines none"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of images of 2 to 4 parts to learn from and of others, and a model."""
    folder = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(0)
    for name in ("learn", "test"):
        write_images(folder / name, [stripes(rng, 2 + i % 3) for i in range(6)])
    line = f"fit normalized-cut {folder / 'learn'} -o {folder / 'm.structsvm'} --lam 0.02 --quiet"
    assert main([*line.split(), *FEW.split()]) == 0
    return folder


def test_images_with_many_parts_are_cut_without_being_told_how_many(run, done):
    out, _ = done("predict m.structsvm test --json")
    found = [image["n_clusters"] for image in json.loads(out)["images"]]
    assert np.mean(np.array(found) == [2, 3, 4, 2, 3, 4]) > 0.5
    assert run("plot m.structsvm test/img/p2.png -o p2.png")[0] == 0


def test_fit_says_how_it_treats_the_numbers_of_parts_of_images(run, refused, done):
    line = f"fit normalized-cut learn -o n.structsvm --lam 0.02 {FEW}"
    assert "the images have 2 to 4 parts" in run(line)[2]
    assert load("n.structsvm").problem_.cluster_count == "unknown"
    _, err = done(f"{line} --set problem.cluster_count=known --force")
    assert "parts:" not in err
    err = refused("predict n.structsvm test")
    assert "--n-clusters" in err
    assert "NormalizedCut(" not in err
    assert run("predict n.structsvm test --n-clusters 3")[0] == 0


def test_messages_about_images_name_files_and_options(refused, done, folder, tmp_path):
    for kind in ("img", "mask"):
        (tmp_path / kind).mkdir()
        for i in (0, 1):
            (tmp_path / kind / f"p{i}.png").write_bytes(
                (folder / "learn" / kind / f"p{i}.png").read_bytes()
            )
    Image.fromarray(np.zeros((32, 48), dtype=np.uint8)).save(tmp_path / "mask" / "p1.png")
    line = f"fit normalized-cut {tmp_path} -o {tmp_path}/m --lam 0.02 {FEW}"
    _, err = done(line)
    assert f"all nodes of {tmp_path / 'img' / 'p1.png'} have the same label" in err
    assert "n_superpixels" in refused("predict m.structsvm test/img/p1.png --n-clusters 900")


def test_label_maps_of_very_many_parts_are_cut(run, tmp_path):
    labels = np.arange(32 * 48).reshape(32, 48) // 4
    np.save(tmp_path / "p0.npy", labels)
    (found,) = read_images("test/img/p0.png", tmp_path)
    assert found.labels.max() == labels.max()
    from structsvm.cli.outputs import label_map

    (tmp_path / "p0.npy").unlink()
    (tmp_path / "many.png").write_bytes(label_map(labels, ".png"))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "many.png")), labels)


def test_scribbles_are_labels_in_part(refused, done, folder, tmp_path):
    """-1 in an array marks pixels without a label; it is no part of its own."""
    for i in range(6):
        labels = np.asarray(Image.open(folder / "learn" / "mask" / f"p{i}.png")).astype(int)
        scribbled = np.where(np.arange(32)[:, None] % 4 == 0, labels, -1)
        np.save(tmp_path / f"p{i}.npy", scribbled)
    (found, *_) = read_images(folder / "learn" / "img", tmp_path)
    assert set(np.unique(found.labels)) == {-1, 0, 60}
    line = f"fit normalized-cut learn/img --labels {tmp_path} -o {tmp_path / 'm'}"
    out, err = done(f"{line} {FEW} --json")
    assert json.loads(out)["unlabelled_samples"] == 6 * 32 * 48 * 3 // 4
    assert "the images have 2 to 4 parts" in err
    assert ".png: is labelled in part only" in refused(
        f"evaluate {tmp_path / 'm'} learn/img --labels {tmp_path}"
    )


def test_values_of_unjudged_pixels_are_remembered_with_the_model(run, tmp_path):
    """The rim of 255 was a part, and files.missing_labels= was not for images."""
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(4):
        image, mask = stripes(rng, 2)
        mask[:, 23:25] = 255
        mask[mask == 60] = 1
        pairs.append((image, mask))
    write_images(tmp_path / "rims", pairs)
    line = f"fit normalized-cut {tmp_path / 'rims'} -o {tmp_path / 'r.structsvm'} --lam 0.02 {FEW}"
    code, _, err = run(line)
    assert code == 0
    assert "--set files.missing_labels=255 leaves them out; so it is in 3 more" in err
    _, out, err = run(f"{line} --force --set files.missing_labels=255")
    assert "2 parts (8 in all)" in out + err
    assert "255" not in err
    code, _, err = run(f"evaluate {tmp_path / 'r.structsvm'} {tmp_path / 'rims'}")
    assert code == 0
    assert "255" not in err
