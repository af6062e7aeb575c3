"""The page of a report: what is in it, and that nothing a user names can break out of it."""

import json
import re
from base64 import b64decode
from copy import copy
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO
from itertools import chain

import networkx
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from recording_cases import recordings
from sklearn.datasets import load_iris

from structsvm import (
    Clustering,
    MetricLearner,
    NormalizedCut,
    evaluate,
    load,
    margin_rates,
    save,
)
from structsvm.datasets import relevant_changes
from structsvm.graphs import GraphOfImage
from structsvm.io import TimeAxis, arrays_and_labels
from structsvm.learner.preparing import prepare
from structsvm.plotting import feature_weights, overlay, report_page
from structsvm.plotting.report import heaviest_labellings
from structsvm.plotting.report_pictures import envelope
from structsvm.solvers import BlockFrankWolfe, Stopping

TRAIN, TEST = (
    relevant_changes(6, n_samples=200, n_features=5, n_relevant=2, jump=2.5, random_state=s)
    for s in (0, 1)
)
HOSTILE = "</script><script>alert(1)</script>&amp;{{data}}\u2028"


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    Xs, ys = arrays_and_labels(TRAIN)
    learner = MetricLearner(metric="diagonal")
    return learner.fit(Xs, ys, feature_names=TRAIN[0].features, baselines="quick")


class Page(HTMLParser):
    """The tags, the text and the data of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags = []
        self.texts = []
        self.data = None
        self._inside = None
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = dict(attributes).get("id") if tag == "script" else tag

    def handle_data(self, text):
        if self._inside == "data":
            self.data = json.loads(text)
        self.texts.append(text)
        self._inside = None


def page_of(learner, recordings, **options) -> Page:
    return Page(report_page(learner, *arrays_and_labels(recordings), **options))


def test_the_page_shows_what_an_evaluation_says(learner):
    page = page_of(learner, TEST, names=[r.name for r in TEST])
    expected = evaluate(learner, *arrays_and_labels(TEST))
    words = " ".join("".join(page.texts).split())
    assert str(expected.verdict) in words
    for name, scores in expected.scores.items():
        assert page.data["means"][name]["loss"] == scores["loss"]
    assert page.data["gains"]["rca"]["low"] == expected.verdict.contrasts["rca"].low
    ends = [r["ends"] for r in page.data["recordings"]]
    Xs = [r.X for r in TEST]
    assert [e["learned"] for e in ends] == learner.predict_breakpoints(Xs)
    baselines = ["equal-segments", "fixed-times", "one-part", "boundary-logistic"]
    assert list(ends[0]) == ["true", "learned", "untrained", "pca", "rca", "olda", *baselines]
    weights = [row["weight"] for row in page.data["metric"]["weights"]]
    np.testing.assert_allclose(weights, sorted(feature_weights(learner))[::-1], rtol=1e-4)


def test_the_page_loads_nothing_from_elsewhere(learner):
    source = report_page(learner, *arrays_and_labels(TEST))
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", source)
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", source)
    assert "default-src 'none'" in source


def test_hostile_names_do_not_break_out_of_the_page(learner):
    names = [f"{HOSTILE}{i}" for i in range(6)]
    page = page_of(learner, TEST, names=names, title=HOSTILE)
    assert [r["name"] for r in page.data["recordings"]] == names
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert HOSTILE in page.texts


def test_the_page_says_when_recordings_are_too_few(learner):
    too_few = page_of(learner, TEST[:2])
    assert "Too few to tell: 2 independent recordings cannot support a verdict" in " ".join(
        too_few.texts
    )
    assert dict(too_few.tags[[t for t, _ in too_few.tags].index("p")][1])["class"] == "open"
    one = page_of(learner, TEST[:1])
    assert one.data["gains"]["untrained"]["low"] is None
    seen = page_of(learner, TRAIN)
    assert "learned from 6 of these" in " ".join(seen.texts)


def test_two_groups_have_no_interval_in_the_picture(learner):
    """It went from -5 to 44, over the whole picture, and its caption promised an interval."""
    page = page_of(learner, TEST, groups=list("aaabbb"))
    assert {(gain["low"], gain["high"]) for gain in page.data["gains"].values()} == {(None, None)}
    caption = "the mean. 2 groups cannot say how far from it others would be."
    assert caption in "".join(page.texts)
    six = page_of(learner, TEST)
    assert None not in {gain["low"] for gain in six.data["gains"].values()}
    assert "mean and 95 % interval" in "".join(six.texts)


def test_long_recordings_make_a_small_page(learner):
    rng = np.random.default_rng(0)
    changes = np.repeat([0.0, 3.0, 0.0, 3.0], 10_000)
    X = rng.normal(size=(40_000, 5)) + changes[:, None] * (np.arange(5) < 2)
    source = report_page(learner, [X], [[10_000, 20_000, 30_000, 40_000]], n_clusters=4)
    assert len(source) < 200_000
    (recording,) = Page(source).data["recordings"]
    assert recording["labels"] is None
    assert len(recording["traces"][0]["high"]) == 1500


@pytest.mark.parametrize("T", [1, 7, 20, 21, 997])
def test_envelopes_keep_every_extreme(T):
    values = np.random.default_rng(T).normal(size=T) * 1e3
    drawn = envelope(values, 10)
    if T <= 20:
        assert drawn["high"] is None
        assert len(drawn["low"]) == T
    else:
        assert len(drawn["low"]) == len(drawn["high"]) == 10
        assert all(low <= high for low, high in zip(drawn["low"], drawn["high"], strict=True))
        assert max(drawn["high"]) == 999
    assert T == 1 or min(drawn["low"]) == 0
    assert (drawn["min"], drawn["max"]) == (values.min(), values.max())


def test_a_report_of_a_table_has_a_point_for_each_row():
    X, y = load_iris(return_X_y=True)
    learner = MetricLearner(problem=Clustering(), standardize="training").fit([X], [y])
    page = Page(report_page(learner, [X], [y]))
    (table,) = page.data["recordings"]
    assert len(table["points"]) == 150
    assert sum(point[4] for point in table["points"]) == table["misplaced"] > 0
    assert all((point[2] == point[3]) != point[4] for point in table["points"])
    assert [key for key, _ in page.data["scores"]] == ["loss", "covering", "adjusted_rand"]
    assert "the K true clusters A" in page.data["meanings"]
    last = "Adj. Rand: agreement on pairs of rows, 0 by chance; 1 is perfect."
    assert page.data["meanings"].endswith(last)


def discs(rng, n):
    """Return images of a disc that differs by hue, and where it is."""
    y, x = np.mgrid[:24, :24]
    found = []
    for _ in range(n):
        row, column = rng.integers(8, 16, 2)
        mask = (y - row) ** 2 + (x - column) ** 2 < 36
        light = rng.uniform(0.5, 1.0, (24, 24, 1))
        found.append((light * np.where(mask[..., None], [1, 0.8, 0.6], [0.6, 0.8, 1]), mask))
    return [list(part) for part in zip(*found, strict=True)]


HUES = GraphOfImage(n_superpixels=40, compactness=30.0)  # which noise does not tear apart


@pytest.fixture(scope="module")
def cutter() -> MetricLearner:
    images, masks = discs(np.random.default_rng(0), 3)
    return MetricLearner(NormalizedCut(image=HUES)).fit(images, masks)


def test_a_report_of_images_has_their_verdict(cutter):
    images, masks = discs(np.random.default_rng(1), 5)
    page = Page(report_page(cutter, images, masks, names=list("abcde")))
    expected = evaluate(cutter, images, masks)
    assert str(expected.verdict) in " ".join("".join(page.texts).split())
    assert "5 held-out images" in str(expected.verdict)
    assert page.data["means"]["learned"]["loss"] == expected.scores["learned"]["loss"]
    assert "found object that is not in both; 0 is perfect." in page.data["meanings"]
    assert all(entry["lower"] is None for entry in page.data["history"])
    assert "Not tuned when this was learned, and so not compared: the grid." in " ".join(page.texts)
    (first, *_) = page.data["recordings"]
    assert list(first["cuts"]) == ["photo", "true", "learned", "untrained", "one-part"]
    assert (first["size"], first["T"]) == ([24, 24], 576)
    weights = [row["weight"] for row in page.data["metric"]["weights"]]
    np.testing.assert_allclose(weights, sorted(feature_weights(cutter))[::-1], rtol=1e-4)


def test_graphs_that_are_no_images_are_points(cutter):
    images, masks = discs(np.random.default_rng(1), 2)
    graphs = [instance.side for instance in prepare(cutter, images)]
    page = Page(report_page(cutter, graphs, masks))
    assert page.data["kind"] == "tables"
    assert (page.data["item"], page.data["part"]) == ("node", "cluster")
    assert "2 independent graphs cannot support a verdict" in " ".join(page.texts)
    for graph, drawn in zip(graphs, page.data["recordings"], strict=True):
        assert len(drawn["points"]) == drawn["T"] == graph.n_samples
        assert drawn["misplaced"] == sum(point[4] for point in drawn["points"])


def test_images_in_files_are_drawn_as_images(cutter, tmp_path):
    images, masks = discs(np.random.default_rng(1), 2)
    arrays = [np.uint8(255 * image) for image in images]
    for i, image in enumerate(arrays):
        Image.fromarray(image).save(tmp_path / f"{i}.png")
    files = [tmp_path / "0.png", str(tmp_path / "1.png")]
    for i, mask in enumerate(masks):
        Image.fromarray(np.uint8(255 * mask)).save(tmp_path / f"{i}_mask.png")
    expected = report_page(cutter, arrays, masks)
    assert report_page(cutter, files, masks) == expected
    drawn = [tmp_path / f"{i}_mask.png" for i in range(2)]
    assert report_page(cutter, files, drawn) == expected
    one = report_page(cutter, arrays[:1], masks[:1])
    assert (
        report_page(cutter, files[0], drawn[0]) == report_page(cutter, files[:1], drawn[:1]) == one
    )
    assert report_page(cutter, [Image.open(file) for file in files], masks) == expected


def test_pixels_without_a_label_have_no_colour_in_the_true_parts(cutter):
    (image,), (mask,) = discs(np.random.default_rng(1), 1)
    labels = np.where(np.arange(24) % 4 < 2, -1, mask)  # of each superpixel some are labelled
    (drawn,) = Page(report_page(cutter, [image], [labels])).data["recordings"]
    buffer = BytesIO()
    Image.fromarray(overlay(image, labels)).save(buffer, format="jpeg", quality=88)
    assert b64decode(drawn["cuts"]["true"].partition(",")[2]) == buffer.getvalue()


def test_clusters_of_graphs_are_named_by_mappings():
    rng = np.random.default_rng(0)
    graphs = []
    labels = []
    for _ in range(3):
        graph = networkx.complete_graph(list("fedcba"))
        labels.append({node: "left" if node < "d" else "right" for node in graph})
        for node in graph:
            at = (node < "d") * 4.0 + rng.normal(scale=0.1)
            graph.nodes[node]["features"] = [at, rng.normal()]
        graphs.append(graph)
    learner = MetricLearner(NormalizedCut()).fit(graphs[:2], labels[:2])
    (drawn,) = Page(report_page(learner, graphs[2:], labels[2:])).data["recordings"]
    assert sorted(drawn["names"]) == ["left", "right"]
    for _, _, found, _, _, node in drawn["points"]:
        assert drawn["names"][found] == labels[2]["fedcba"[node]]


def test_the_page_shows_times_from_the_files(learner):
    times = TimeAxis("hour", 5.0 + np.arange(200.0))
    recordings = [replace(recording, time=times) for recording in TEST]
    for drawn in Page(report_page(learner, recordings, None)).data["recordings"]:
        assert drawn["time"]["name"] == "hour"
        assert drawn["time"]["values"] == [5.0, 204.0]
    zoned = pd.date_range("2024-06-01", periods=200, freq="h", tz="Europe/Berlin")
    page = page_of(learner, TEST[:1], times=[pd.Series(zoned)])
    assert page.data["recordings"][0]["time"]["name"] == "time (UTC)"


# ---- the report shows the wrong labellings that weigh most


Xs, YS = recordings(8, T=60)
NAMES = ["ann", "<b>ben</b>", "cleo", "dan", "eve"]


@pytest.fixture(scope="module")
def supported() -> MetricLearner:
    return MetricLearner(metric="diagonal").fit(dict(zip(NAMES, Xs, strict=False)), YS[:5])


def test_the_three_heaviest_labellings_are_drawn_under_the_truth(supported):
    shown = heaviest_labellings(supported)
    support = supported.solution_.support
    assert [figure["ends"] for figure in shown["figures"]] == [
        {"true": found.truth.breakpoints, "wrong": found.labelling.breakpoints}
        for found in support[:3]
    ]
    total = sum(found.multiplier for found in support)
    for found, figure in zip(support[:3], shown["figures"], strict=True):
        assert figure["caption"].startswith(f"{NAMES[found.instance]}: ")
        share = f"{100 * found.multiplier / total:.1f} % of the weight of all."
        assert figure["caption"].endswith(share)
    assert f"{len(support)} wrong segmentations hold the metric" in shown["words"]


def test_a_loaded_model_shows_its_support_labellings(supported, tmp_path):
    save(supported, tmp_path / "m.structsvm")
    assert heaviest_labellings(load(tmp_path / "m.structsvm")) == heaviest_labellings(supported)


def test_support_labellings_number_recordings_without_names():
    supported = MetricLearner(metric="diagonal").fit(Xs[:5], YS[:5])
    heaviest = supported.solution_.support[0].instance
    caption = heaviest_labellings(supported)["figures"][0]["caption"]
    assert caption.startswith(f"Training recording {heaviest}: ")


def test_a_solution_without_a_support_shows_no_labellings():
    solver = BlockFrankWolfe(Stopping(tol=0.05))
    supported = MetricLearner(metric="diagonal", solver=solver).fit(Xs[:5], YS[:5])
    assert heaviest_labellings(supported) is None


def test_ranges_of_changes_are_on_the_page(learner):
    rated = copy(learner)
    rated.margin_rates_ = margin_rates(learner, *arrays_and_labels(TRAIN), cv=2)
    page = page_of(rated, TEST)
    tables = rated.predict_segments(arrays_and_labels(TEST)[0], level=0.9)
    for shown, table in zip(page.data["recordings"], tables, strict=True):
        assert [one["range"] for one in shown["changes"]] == [
            [r["from"], r["to"]] for r in table[1:]
        ]
        assert shown["possible"] == list(
            map(list, chain.from_iterable(row["possible"] for row in table))
        )
    plain = page_of(learner, TEST)
    assert all(one["range"] is None for one in plain.data["recordings"][0]["changes"])
    assert plain.data["recordings"][0]["possible"] == []
