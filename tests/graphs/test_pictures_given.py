"""Images given as Pillow objects or files, and graphs whose nodes have numbers."""

import networkx as nx
import numpy as np
import pytest
from cases import cases
from PIL import Image

from structsvm import DataError, MetricLearner, NormalizedCut, evaluate
from structsvm.cli.evaluate import state_table
from structsvm.graphs import as_graph
from structsvm.graphs.readers import from_networkx


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Arrays, masks, and the files of both."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("scenes")
    images = []
    masks = []
    files = []
    mask_files = []
    for i in range(3):
        mask = np.zeros((24, 32), dtype=np.uint8)
        mask[6:18, 8 + i : 22 + i] = 255
        image = rng.integers(0, 40, (24, 32, 3), dtype=np.uint8)
        image[mask > 0, 0] += 190
        images.append(image)
        masks.append(mask)
        files.append(folder / f"{i}.png")
        mask_files.append(folder / f"{i}_mask.png")
        Image.fromarray(image).save(files[-1])
        Image.fromarray(mask).save(mask_files[-1])
    return images, masks, files, mask_files


@pytest.fixture(scope="module")
def learner(scenes):
    images, masks, _, _ = scenes
    return MetricLearner(NormalizedCut(), lam=0.1).fit(images, masks)


def test_pillow_images_and_paths_are_read_like_arrays(scenes, learner):
    images, masks, files, mask_files = scenes
    opened = [Image.open(file) for file in files]
    forms = [
        (opened, [Image.open(file) for file in mask_files]),
        (files, mask_files),
        ([str(file) for file in files], [str(file) for file in mask_files]),
        (dict(zip("abc", files, strict=True)), dict(zip("abc", masks, strict=True))),
    ]
    for Xs, ys in forms:
        same = MetricLearner(NormalizedCut(), lam=0.1).fit(Xs, ys)
        np.testing.assert_array_equal(same.metric_.factor, learner.metric_.factor)
    for one in (images[0], files[0], str(files[0]), opened[0]):
        np.testing.assert_array_equal(learner.predict(one), learner.predict(images)[0])
    assert opened[0].load() is not None  # what somebody else opened stays open


def test_masks_in_files_give_the_scores_of_arrays(scenes, learner):
    images, masks, files, mask_files = scenes
    with pytest.warns(UserWarning, match="learned from"):
        from_arrays = evaluate(learner, images, masks).scores
    with pytest.warns(UserWarning, match="learned from"):
        assert evaluate(learner, files, mask_files).scores == from_arrays


def test_a_single_image_with_its_mask_is_a_list_of_one(scenes, learner):
    images, masks, files, mask_files = scenes
    alone = MetricLearner(NormalizedCut(), lam=0.1).fit(images[0], masks[0])
    for X, y in ((files[0], mask_files[0]), ([files[0]], [mask_files[0]])):
        same = MetricLearner(NormalizedCut(), lam=0.1).fit(X, y)
        np.testing.assert_array_equal(same.metric_.factor, alone.metric_.factor)
    score = learner.score(images[0], masks[0])
    assert learner.score(str(files[0]), str(mask_files[0])) == score


@cases(
    ("nothing.png", "nothing.png: no such file"),
    (".", "structsvm.io.read_images reads the images of a folder"),
    ("notes.txt", "notes.txt: no such file, or of no kind that is read: give .png"),
    ("damaged.png", "damaged.png: cannot be read as an image"),
)
def test_a_path_that_is_no_image_is_named(tmp_path, learner, name, message):
    (tmp_path / "notes.txt").write_text("a text")
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(DataError, match=message):
        learner.predict(tmp_path / name)


def test_names_of_regions_are_counted_in_pixels(scenes):
    images, masks, _, _ = scenes
    learner = MetricLearner(NormalizedCut(), lam=0.1)
    learner.fit(images[:2], masks[:2], baselines=["region-forest"])
    result = evaluate(learner, images[2:], masks[2:])
    head = state_table(result).splitlines()[0].split("  ")
    titles = [title.strip() for title in head if title]
    assert titles == ["region (learned)", "pixels", "named right", "taken for"]
    assert result.confusion["region-forest"].counts.sum() == masks[2].size


def people(n, rng):
    """Two groups of friends, who differ in age but not in height; the label is an attribute too."""
    graph = nx.barbell_graph(n, 0)
    for node in graph:
        old = node >= n
        graph.nodes[node].update(
            height=float(rng.normal()), age=int(40 * old + rng.integers(20)), label=int(old)
        )
    return graph, (np.arange(2 * n) >= n).astype(int)


def test_numbers_of_nodes_are_features_but_for_the_label():
    rng = np.random.default_rng(0)
    graphs, ys = zip(*[people(8, rng) for _ in range(3)], strict=True)
    assert as_graph(graphs[0]).features == ("age", "height")
    learner = MetricLearner(NormalizedCut()).fit(graphs[:2], ys[:2])
    assert list(learner.feature_names_in_) == ["age", "height"]
    assert learner.score(graphs[2:], ys[2:]) == 0  # perfect


@cases(
    ({"age": 3, "club": "A"}, "node 0 carries 'age', 'club'.* under 'features'"),
    ({"label": 3}, "node 0 carries 'label'"),
    ({"x": "old"}, "of node 0 is no vector of numbers, .*'old'"),
)
def test_attributes_that_are_no_features_are_named(attributes, message):
    graph = nx.path_graph(2)
    for node in graph:
        graph.nodes[node].update(attributes)
    with pytest.raises(DataError, match=message):
        from_networkx(graph)
