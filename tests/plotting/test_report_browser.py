"""In a real browser a report renders, filters, zooms, obeys the keyboard; figures of the site."""

from copy import copy
from itertools import pairwise

import numpy as np
import pytest
from browsers import contrasts, luminance, screen_of
from recording_cases import changes
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from sklearn.datasets import load_iris

from structsvm import Clustering, MetricLearner, NormalizedCut, evaluate, margin_rates
from structsvm.datasets import relevant_changes
from structsvm.features import StateScores
from structsvm.graphs import GraphOfImage
from structsvm.io import arrays_and_labels
from structsvm.plotting import feature_weights, report_page

TRAIN, TEST = (
    relevant_changes(6, n_samples=200, n_features=5, n_relevant=2, jump=2.5, random_state=s)
    for s in (0, 1)
)
XS, YS = arrays_and_labels(TEST)
NAMES = [f"walk {k}" for k in range(5)] + ["<b>tea & 'cake'</b><script>alert(1)</script>"]


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    Xs, ys = arrays_and_labels(TRAIN)
    return MetricLearner().fit(Xs, ys, feature_names=TRAIN[0].features, baselines="quick")


@pytest.fixture(scope="module")
def address(learner, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page(learner, XS, YS, names=NAMES), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    """Return the browser with the page as it opens."""
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == [], "the console must stay empty"


def opened(browser, folder, *data, **settings):
    """Open the report of a learner on data in the browser."""
    path = folder / "report.html"
    path.write_text(report_page(*data, **settings), encoding="utf-8")
    browser.get(path.as_uri())


def by_id(page, name):
    return page.find_element(By.ID, name)


def texts(page, selector) -> list[str]:
    return [element.text for element in page.find_elements(By.CSS_SELECTOR, selector)]


def shown(page) -> list[str]:
    return texts(page, "#table tbody td:first-child")


def window(page) -> list[float]:
    return page.execute_script("return [...view.window]")


def press(page, *keys):
    ActionChains(page).send_keys(*keys).perform()


def focus(page, name="picture"):
    page.execute_script("document.getElementById(arguments[0]).focus()", name)


def test_a_browser_shows_verdict_losses_and_recordings(page, learner):
    expected = evaluate(learner, XS, YS)
    assert by_id(page, "verdict").text == str(expected.verdict)
    losses = [float(text) for text in texts(page, "#means td:nth-child(2)")]
    assert losses == [round(scores["loss"], 3) for scores in expected.scores.values()]
    assert sorted(shown(page)) == sorted(NAMES)
    for name in ("gains", "picture", "spectrum", "bounds"):
        (drawn,) = by_id(page, name).find_elements(By.TAG_NAME, "svg")
        assert drawn.size["width"] > 200
        assert drawn.get_attribute("aria-label")
    names = [name for name, _ in sorted(heaviest(learner), key=lambda pair: -pair[1])]
    assert texts(page, "#weights tbody th") == names
    assert texts(page, "#matrix tbody th") == [f"{i} {name}" for i, name in enumerate(names, 1)]
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_a_browser_draws_the_segments_of_the_learner(page, learner):
    i = NAMES.index(by_id(page, "viewed").text)
    drawn = page.execute_script(
        "return [...document.querySelectorAll('#picture rect[data-end]')]"
        ".filter(r => r.textContent.startsWith('learned')).map(r => Number(r.dataset.end))"
    )
    assert drawn == learner.predict_breakpoints(XS[i : i + 1])[0]


def test_the_table_of_a_report_starts_with_the_worst_and_sorts(page, learner):
    recordings = evaluate(learner, XS, YS, names=NAMES).instances
    loss = {r.name: r.scores["learned"]["loss"] for r in recordings}
    saved = {r.name: r.scores["untrained"]["loss"] - loss[r.name] for r in recordings}
    assert shown(page) == sorted(saved, key=saved.get)
    head = page.find_element(By.CSS_SELECTOR, "th[data-key=learned]")
    head.find_element(By.TAG_NAME, "button").click()
    assert shown(page) == sorted(loss, key=loss.get)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element(By.TAG_NAME, "button").click()
    assert shown(page) == sorted(loss, key=loss.get)[::-1]
    assert head.get_attribute("aria-sort") == "descending"


def test_a_browser_filters_recordings_by_name_and_loss(page, learner):
    by_id(page, "filter").send_keys("TEA")
    assert shown(page) == [NAMES[-1]]
    assert by_id(page, "shown").text == "1 of 6 shown"
    by_id(page, "filter").send_keys(Keys.BACKSPACE * 3)
    by_id(page, "worse").click()
    recordings = evaluate(learner, XS, YS, names=NAMES).instances
    worse = [
        r.name for r in recordings if r.scores["learned"]["loss"] > r.scores["untrained"]["loss"]
    ]
    assert sorted(shown(page)) == sorted(worse)
    press(page, Keys.ESCAPE)


def test_a_row_of_the_table_opens_its_recording(page):
    for name in (NAMES[3], NAMES[-1]):
        page.find_element(By.CSS_SELECTOR, f'tr[data-name="{name}"] button').send_keys(Keys.ENTER)
        assert by_id(page, "viewed").text == name
        (selected,) = texts(page, "tr[aria-selected=true] td:first-child")
        assert selected == name


def test_the_picture_of_a_report_zooms_by_keys(page):
    focus(page)
    assert window(page) == [0, 200]
    press(page, "+")
    assert window(page) == [50, 150]
    assert "samples 50 to 149 of 200" in by_id(page, "range").text
    assert "Margin of a change: how much more" in by_id(page, "range").text
    press(page, Keys.ARROW_RIGHT)
    assert window(page) == [70, 170]
    press(page, Keys.ARROW_RIGHT * 9)
    assert window(page) == [100, 200]
    press(page, "-")
    assert window(page) == [0, 200]
    press(page, "+" * 20)
    assert window(page) == [98, 102]
    press(page, "0")
    assert window(page) == [0, 200]


def test_the_picture_of_a_report_zooms_by_buttons_and_dragging(page):
    by_name = {b.text: b for b in page.find_elements(By.CSS_SELECTOR, "#toolbar button")}
    by_name["Zoom in"].click()
    assert window(page) == [50, 150]
    by_name["Everything"].click()
    left, right = page.execute_script("return [view.x(40), view.x(80)]")
    picture = by_id(page, "picture")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
    start = left - picture.size["width"] / 2 + 1
    drag = ActionChains(page, duration=20).move_to_element_with_offset(picture, round(start), 0)
    drag.click_and_hold().move_by_offset(round(right - left), 0).release().perform()
    assert window(page) == pytest.approx([40, 80], abs=0.5)
    ActionChains(page).double_click(picture).perform()
    assert window(page) == [0, 200]


def test_the_keyboard_goes_through_recordings(page):
    order = shown(page)
    assert by_id(page, "viewed").text == order[0]
    press(page, "n", "n")
    assert by_id(page, "viewed").text == order[2]
    press(page, "p", "p", "p")
    assert by_id(page, "viewed").text == order[-1]
    press(page, "/")
    assert page.switch_to.active_element.get_attribute("id") == "filter"
    press(page, "n")  # a letter now, not a command
    assert by_id(page, "viewed").text == order[-1]
    assert by_id(page, "filter").get_attribute("value") == "n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_legible_on_light_and_dark(page, scheme):
    names = ["ink", "soft", "learned", "untrained", "rca", "pca", "yes", "no", "open"]
    for name, contrast in contrasts(page, scheme, names).items():
        assert contrast >= (3.0 if name == "untrained" else 4.5), (name, contrast)


def test_a_browser_draws_tables_with_their_clusters(browser, tmp_path):
    X, y = load_iris(return_X_y=True)
    learner = MetricLearner(problem=Clustering(), standardize="training").fit([X], [y])
    opened(browser, tmp_path, learner, [X], [y])
    rings = "#picture circle[fill=none]"
    wrong = len(texts(browser, rings))
    assert f"{wrong} misplaced" in by_id(browser, "range").text
    assert len(texts(browser, "#picture title")) == 150
    focus(browser)
    press(browser, "+", "+")
    assert 0 < len(texts(browser, "#picture title")) < 150
    by_id(browser, "show").send_keys("true")
    assert len(texts(browser, "#picture title")) > 0
    assert browser.get_log("browser") == []


def test_a_browser_draws_images_with_their_parts(browser, tmp_path):
    rng = np.random.default_rng(0)
    masks = [np.arange(24)[None, :] * np.ones((18, 1)) >= k for k in (8, 12, 15)]
    images = [
        np.where(m[..., None], [0.9, 0.7, 0.5], [0.5, 0.7, 0.9]) * rng.uniform(0.6, 1, (18, 24, 1))
        for m in masks
    ]
    learner = MetricLearner(NormalizedCut(image=GraphOfImage(n_superpixels=30))).fit(images, masks)
    opened(browser, tmp_path, learner, images, masks)
    panels = "#picture svg svg"
    assert len(texts(browser, panels)) == 5
    assert [words.split(",")[0] for words in texts(browser, "#picture svg > text")] == [
        "image",
        "true",
        "learned",
        "untrained",
        "one single part",
    ]
    focus(browser)
    press(browser, "+", Keys.ARROW_DOWN * 9)
    assert window(browser) == [6, 18]
    panel = browser.find_element(By.CSS_SELECTOR, panels)
    assert panel.get_dom_attribute("viewBox") == "6 9 12 9"
    press(browser, "n")
    assert window(browser) == [0, 24]
    assert browser.get_log("browser") == []


STATES = np.repeat(["rest", "<i>walk</i>", "turn", "rest"], [20, 22, 14, 10])
HIDDEN = np.where(STATES == "turn", "&sit", STATES)


@pytest.fixture(scope="module")
def of_states(tmp_path_factory) -> str:
    """Return the address of a page on named states, one of which was not learned."""
    rng = np.random.default_rng(0)
    levels = {"rest": 0, "<i>walk</i>": 2, "turn": 4}
    level = np.array([[levels[name], levels[name] % 4] for name in STATES])
    Xs = [level + rng.normal(scale=0.3, size=level.shape) for _ in range(9)]
    scores = StateScores("logistic", lags=(0,))
    learner = MetricLearner(metric="diagonal", features=scores).fit(Xs[:4], [STATES] * 4)
    path = tmp_path_factory.mktemp("states") / "report.html"
    ys = [HIDDEN, *[STATES] * 4]
    made = report_page(learner, Xs[4:], ys, unseen_states="count", names=list("abcde"))
    path.write_text(made, encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def named(browser, of_states):
    browser.get(of_states)
    yield browser
    assert browser.get_log("browser") == [], "the console must stay empty"


def fills(page, row) -> list[tuple[str, str]]:
    """State and colour of each segment of a row of the picture."""
    bars = page.find_elements(By.CSS_SELECTOR, "#picture rect[data-state]")
    rows = sorted({bar.get_attribute("y") for bar in bars}, key=float)
    mine = [bar for bar in bars if bar.get_attribute("y") == rows[row]]
    return [(bar.get_attribute("data-state"), bar.get_attribute("fill")) for bar in mine]


def test_states_have_one_colour_in_all_rows_and_in_the_legend(named):
    named.find_element(By.XPATH, "//tbody//button[.='b']").click()
    marks = dict(fills(named, 0))
    assert [name for name, _ in fills(named, 0)] == ["rest", "<i>walk</i>", "turn", "rest"]
    assert fills(named, 1) == fills(named, 0)
    assert len(set(marks.values())) == 3
    legend = named.find_elements(By.CSS_SELECTOR, "#legend li")
    assert [entry.text for entry in legend] == ["<i>walk</i>", "rest", "turn", "&sit (not learned)"]
    for entry in legend[:3]:
        color = entry.find_element(By.CSS_SELECTOR, "rect").get_attribute("fill")
        assert marks[entry.text] == color


def test_rows_without_names_are_told_from_states(browser, tmp_path):
    """A metric of changes has a colour of its own beside a classifier that names states."""
    rng = np.random.default_rng(0)
    rising = np.cumsum(np.r_[0, STATES[1:] != STATES[:-1]])
    Xs = [rising[:, None] + rng.normal(scale=0.3, size=(len(STATES), 2)) for _ in range(8)]
    learner = MetricLearner(metric="diagonal").fit(Xs[:4], [STATES] * 4, baselines="quick")
    opened(browser, tmp_path, learner, Xs[4:], [STATES] * 4)
    assert len({state for state, _ in fills(browser, 0)}) == 3
    said = "Rows without names have one colour each, which stands for no state"
    assert said in by_id(browser, "range").text


def test_the_confusion_of_states_is_shown_for_each_metric(named):
    head = texts(named, "#confusion-table thead th")
    assert head == ["true state", "samples", "<i>walk</i>", "rest", "turn", "&sit"]
    rows = {
        row.find_element(By.TAG_NAME, "th").text: [
            cell.text for cell in row.find_elements(By.TAG_NAME, "td")
        ]
        for row in named.find_elements(By.CSS_SELECTOR, "#confusion-table tbody tr")
    }
    assert rows["&sit"] == ["14", "·", "·", "100 %", "·"]
    assert rows["turn"][0] == "56"
    Select(by_id(named, "confusion-of")).select_by_visible_text("untrained")
    assert "Accuracy over all of them: 0." in by_id(named, "confusion-words").text


@pytest.fixture
def on_a_phone(browser):
    """Show pages as a phone does, 390 pixels wide."""
    with screen_of(browser, 390, 844, mobile=True):
        yield browser


def test_a_report_scrolls_down_only_on_a_phone(on_a_phone, address, of_states):
    for page in (address, of_states):
        on_a_phone.get(page)
        wide = on_a_phone.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390, page


def test_the_best_value_of_each_score_is_bold(page, learner):
    means = evaluate(learner, XS, YS).scores
    least = min(scores["loss"] for scores in means.values())
    rows = page.find_elements(By.CSS_SELECTOR, "#means tbody tr")
    for row in rows:
        loss = row.find_elements(By.TAG_NAME, "td")[0]
        is_best = float(loss.text) == round(least, 3)
        assert ("best" in (loss.get_attribute("class") or "")) == is_best
        assert (loss.value_of_css_property("font-weight") == "700") == is_best


def test_margins_of_changes_are_drawn_below_the_segments(page, learner):
    bars = page.find_elements(By.CSS_SELECTOR, "#picture rect.sure")
    name = page.find_element(By.ID, "viewed").text
    changes = learner.predict_segments(XS)[NAMES.index(name)][1:]
    told = [bar.find_element(By.TAG_NAME, "title").get_attribute("textContent") for bar in bars]
    assert len(told) == len(changes) > 0
    for words, change in zip(told, changes, strict=True):
        assert words.startswith(f"change at sample {change['start']}: margin ")
        assert float(words.rpartition(" ")[2]) == pytest.approx(change["margin"], rel=5e-3)


def test_ranges_of_changes_are_in_the_unit_of_the_times(browser, learner, tmp_path):
    rated = copy(learner)
    rated.margin_rates_ = margin_rates(learner, *arrays_and_labels(TRAIN), cv=2)
    times = [0.04 * np.arange(len(X)) for X in XS]
    opened(browser, tmp_path, rated, XS, YS, names=NAMES, times=times)
    (segments,) = rated.predict_segments(XS[:1], level=0.9)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#picture title')].map((one) => one.textContent)"
    )
    ranges = [title for title in titles if "it is between" in title]
    assert len(ranges) >= len(segments) - 1 > 0
    assert all("between time " in title for title in ranges)
    assert browser.get_log("browser") == []


def labels_of_the_axis(page):
    """Words and horizontal bounds of what is written along the time axis."""
    script = (
        "return [...document.querySelectorAll('#picture svg > g:last-child > text')].map((t) => {"
        "const b = t.getBoundingClientRect(); return [t.textContent, b.left, b.right]; })"
    )
    return page.execute_script(script)


@pytest.mark.parametrize("width", [1280, 390])
def test_tick_labels_of_unix_seconds_differ_and_do_not_overlap(browser, learner, tmp_path, width):
    with screen_of(browser, width, 900):
        opened(browser, tmp_path, learner, XS[:1], YS[:1], times=[1.7e9 + 0.05 * np.arange(200)])
        focus(browser)
        press(browser, "+" * 3)
        written = sorted(labels_of_the_axis(browser), key=lambda found: found[1])
        right = by_id(browser, "picture").rect
    assert written[0][0] == "time"
    ticks = [float(words) for words, *_ in written[1:]]
    assert ticks == sorted(set(ticks))
    assert all(1.7e9 + 4 <= tick <= 1.7e9 + 6 for tick in ticks)
    assert all(left[2] <= after[1] + 1 for left, after in pairwise(written))
    assert written[-1][2] <= right["x"] + right["width"]


def test_moments_on_both_sides_of_a_gap_are_those_of_the_recording(browser, learner, tmp_path):
    X = np.tile(XS[0], (10, 1))
    y = np.concatenate([200 * k + YS[0] for k in range(10)])
    times = np.arange(2000.0) + np.where(np.arange(2000) >= 1001, 1e6, 0.0)
    opened(browser, tmp_path, learner, [X], [y], times=[times])
    script = "return arguments[0].map((t) => timeOf(view.recording.time, t))"
    assert browser.execute_script(script, [999, 1000, 1001, 1002, 1999]) == [
        999,
        1000,
        1001001,
        1001002,
        1001999,
    ]


def test_a_printed_report_has_all_columns_on_light_ground(browser, address, of_states):
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    script = (
        "return [...document.querySelectorAll('th, td')].filter((cell) => {"
        " const b = cell.getBoundingClientRect(); return b.right > innerWidth"
        " || cell.scrollWidth > cell.clientWidth + 1; }).map((cell) => cell.textContent)"
    )
    paper = "return getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    try:
        with screen_of(browser, 718, 1047):  # of A4
            for page in (address, of_states):
                browser.get(page)
                assert browser.execute_script(script) == []
                assert luminance(browser.execute_script(paper)) == pytest.approx(1)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def heaviest(learner):
    return list(zip(learner.metric_feature_names_, feature_weights(learner), strict=True))


FORMS = ("left_wrist_acceleration_{:03d}_of_the_forearm", "c{}")


@pytest.mark.parametrize(("form", "P"), [(FORMS[0], 49), (FORMS[1], 200)])
def test_names_of_many_features_are_whole_and_do_not_overlap(on_a_phone, tmp_path, form, P):
    """A diagonal metric is its weights alone; beyond the largest, their sum."""
    names = [form.format(k) for k in range(P)]
    Xs, ys = changes(6, n_features=P, n_relevant=30)
    learner = MetricLearner(metric="diagonal", lam=1.0).fit(Xs[:4], ys[:4], feature_names=names)
    opened(on_a_phone, tmp_path, learner, Xs[4:], ys[4:])
    assert not by_id(on_a_phone, "matrix").is_displayed()
    written = texts(on_a_phone, "#weights tbody th")
    pairs = sorted(heaviest(learner), key=lambda pair: -pair[1])
    assert written == [*[name for name, _ in pairs[:20]], f"{P - 20} others together"]
    total = sum(weight for _, weight in pairs[20:])
    last = on_a_phone.find_elements(By.CSS_SELECTOR, "#weights tr")[-1]
    assert float(last.text.split()[-1]) == pytest.approx(total, rel=5e-3)
    script = (
        "return [...document.querySelectorAll('#weights th')].filter("
        "(th) => th.scrollWidth > th.clientWidth + 1).length"
    )
    assert on_a_phone.execute_script(script) == 0


def test_wide_tables_of_a_report_scroll_on_a_phone_and_say_so(on_a_phone, address):
    on_a_phone.get(address)
    for region in on_a_phone.find_elements(By.CSS_SELECTOR, "#means, #table"):
        cue = region.find_element(By.XPATH, "preceding-sibling::p[1]")
        assert "more columns to the right" in cue.text
        on_a_phone.execute_script("arguments[0].scrollLeft = 1e6", region)
        script = (
            "const [region] = arguments, right = region.getBoundingClientRect().right;"
            "return [...region.querySelectorAll('th, td')].filter("
            "(cell) => cell.getBoundingClientRect().right > right + 1).length"
        )
        assert on_a_phone.execute_script(script, region) == 0
        first = region.find_element(By.CSS_SELECTOR, "tbody :is(th, td)")
        assert first.rect["x"] >= region.rect["x"]  # whose row it is stays in sight
