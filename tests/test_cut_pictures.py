"""What is drawn and told of a model of normalized cuts is what its name says."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cut_cases import planted
from PIL import Image

from structsvm import CutLearner, NormalizedCut, evaluate, load, save
from structsvm.cli import main
from structsvm.errors import SettingsError
from structsvm.plotting import plot_gap, plot_metric, plot_spectrum, plot_weights
from structsvm.report import eigenvalues, feature_weights, report_page, scaled_metric


@pytest.fixture(scope="module")
def learner() -> CutLearner:
    return CutLearner(lam=0.02).fit(*planted(np.random.default_rng(0), n=4, T=24))


def painted(rng: np.random.Generator, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an image of stripes of different hues, and its label map."""
    labels = np.repeat(np.arange(24) * n_parts // 24, 24).reshape(24, 24)
    hues = np.array([[1.0, 0.7, 0.4], [0.4, 0.7, 1.0], [0.5, 1.0, 0.5]])
    light = 0.4 + 0.6 * np.kron(rng.random((4, 4)), np.ones((6, 6)))
    return np.round(255 * light[..., None] * hues[labels]).astype(np.uint8), labels


def test_the_metric_is_in_units_of_where_learning_started(learner: CutLearner) -> None:
    start = learner.baselines_["untrained"].factor
    np.testing.assert_allclose(
        start @ scaled_metric(learner) @ start, learner.get_mahalanobis_matrix()
    )
    np.testing.assert_allclose(feature_weights(learner), learner.feature_weights())
    drawn = plot_metric(learner).images[0].get_array()
    order = np.argsort(-np.diag(scaled_metric(learner)), kind="stable")
    np.testing.assert_array_equal(drawn, scaled_metric(learner)[np.ix_(order, order)])
    np.testing.assert_allclose(
        plot_spectrum(learner).lines[0].get_ydata(),
        np.linalg.eigvalsh(scaled_metric(learner))[::-1],
        atol=1e-9,
    )
    assert plot_weights(learner).get_xlabel() == "weight against where learning started"
    assert eigenvalues(learner).size == 3


def test_the_gap_of_what_is_not_convex_is_its_objective(learner: CutLearner) -> None:
    ax, history = plot_gap(learner), learner.solution_.history
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [step.objective for step in history])
    assert ax.get_ylabel() == "objective (not convex: no gap is known)"
    seconds = plot_gap(learner.solution_, against="seconds").lines[0].get_xdata()
    np.testing.assert_array_equal(seconds, [step.seconds for step in history])
    with pytest.raises(SettingsError, match="no count of oracle calls"):
        plot_gap(learner, against="oracle_calls")
    with pytest.raises(SettingsError, match="run 'cuts' has no certified gap"):
        plot_gap({"cuts": learner.solution_})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, and images of which two have two parts and one has three."""
    folder, rng = tmp_path_factory.mktemp("stripes"), np.random.default_rng(0)
    images = [painted(rng, n) for n in (2, 2, 3, 2, 2, 3)]
    Xs, ys = zip(*images[:3], strict=True)
    learner = CutLearner(NormalizedCut(n_segments=20), lam=0.02).fit(list(Xs), list(ys))
    save(learner, folder / "m.structsvm")
    for kind in ("img", "mask"):
        (folder / "test" / kind).mkdir(parents=True)
    for i, (image, labels) in enumerate(images[3:]):
        Image.fromarray(image).save(folder / "test" / "img" / f"{i}.png")
        Image.fromarray((100 * labels).astype(np.uint8)).save(folder / "test" / "mask" / f"{i}.png")
    return folder


def test_a_jaccard_distance_says_of_how_many_images_it_is(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["evaluate", "m.structsvm", "test"]) == 0
    printed = capsys.readouterr().out
    assert "mean of 3 images" in printed
    assert "Jaccard distance of 2 with two parts" in printed
    assert main(["evaluate", "m.structsvm", "test", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_two_parts"] == 2
    each = [image["learned"]["jaccard"] for image in told["images"]]
    assert each[2] is None
    assert told["learned"]["jaccard"] == pytest.approx(np.mean(each[:2]))
    assert main(["evaluate", "m.structsvm", "test/img/0.png", "--masks", "test/mask"]) == 0
    assert re.search("  Jaccard distance  ", capsys.readouterr().out)


def test_a_page_says_of_how_many_images_the_jaccard_distance_is(model: Path) -> None:
    rng, learner = np.random.default_rng(1), load(model / "m.structsvm")
    Xs, ys = zip(*(painted(rng, n) for n in (2, 3)), strict=True)
    page = report_page(learner, list(Xs), list(ys))
    assert "Jaccard distance of 1 with two parts" in page
    few = evaluate(learner, list(Xs[1:]), list(ys[1:]))
    assert few.n_two_parts == 0
    assert few.jaccard_in_words == "Jaccard distance"


@pytest.mark.parametrize("show", ["components", "features"])
def test_an_image_has_no_directions_to_show(
    show: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model)
    assert main(["plot", "m.structsvm", "test/img/0.png", "--show", show, "-o", "x.png"]) == 1
    assert f"an image has no {show} to show" in capsys.readouterr().err
    assert not (model / "x.png").exists()
