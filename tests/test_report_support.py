"""The report shows the wrong labellings that weigh most."""

import re
from html import escape

import pytest
from recording_cases import recordings

from structsvm import MetricLearner, load, save
from structsvm.plotting import report_page
from structsvm.plotting.report.page import support_section
from structsvm.solvers import BlockFrankWolfe, Stopping

Xs, YS = recordings(8, T=60)
NAMES = ["ann", "<b>ben</b>", "cleo", "dan", "eve"]


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return MetricLearner(metric="diagonal").fit(dict(zip(NAMES, Xs, strict=False)), YS[:5])


def ends_drawn(section, name):
    """The last sample of each segment, picture by picture."""
    pictures = re.findall(r"<svg.*?</svg>", section, re.DOTALL)
    pattern = rf"<title>{name}: samples \d+ to (\d+)</title>"
    return [[int(end) + 1 for end in re.findall(pattern, picture)] for picture in pictures]


def test_the_three_that_weigh_most_are_drawn_under_the_truth(learner):
    page = report_page(learner, Xs[5:], YS[5:])
    (section,) = re.findall(r'<section id="support".*?</section>', page, re.DOTALL)
    heaviest = learner.solution_.support[:3]
    assert ends_drawn(section, "wrong") == [found.labelling.breakpoints for found in heaviest]
    assert ends_drawn(section, "true") == [found.truth.breakpoints for found in heaviest]
    total = sum(found.multiplier for found in learner.solution_.support)
    for found in heaviest:
        name = escape(NAMES[found.sample])
        weighs = f"{100 * found.multiplier / total:.1f} % of the weight of all"
        assert re.search(f"<figcaption>{name}: .*{weighs}", section)
    assert f"{len(learner.solution_.support)} wrong segmentations hold the metric" in section
    assert section.count('role="img" aria-label="') == 3


def test_a_loaded_model_shows_them_as_well(learner, tmp_path):
    save(learner, tmp_path / "m.structsvm")
    assert support_section(load(tmp_path / "m.structsvm")) == support_section(learner)


def test_recordings_without_names_are_numbered():
    learner = MetricLearner(metric="diagonal").fit(Xs[:5], YS[:5])
    heaviest = learner.solution_.support[0].sample
    assert f"<figcaption>Training recording {heaviest}: " in support_section(learner)


def test_without_a_support_there_is_no_such_part():
    solver = BlockFrankWolfe(Stopping(tol=0.05))
    learner = MetricLearner(metric="diagonal", solver=solver).fit(Xs[:5], YS[:5])
    assert support_section(learner) == ""
    assert 'id="support"' not in report_page(learner, Xs[5:], YS[5:])
