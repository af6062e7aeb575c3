"""In a real browser recordings are labelled, learned from and corrected, by pointer and by keys."""

import json
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from browsers import contrasts, screen_of
from label_kit import Asking, served
from media_files import tone, write_media
from programs import CONTEXT, ready_to_fork
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from structsvm.cli import main
from structsvm.datasets import relevant_changes
from structsvm.learner.files import MODEL

T = 400
PATIENCE = 20  # seconds until a page that does not do what it should has failed
LEARNING = 300  # the same of learning, which compiles what it needs first
NAMES = ("low", "high")
DATES = np.datetime64("2024-03-01T12:00:00") + np.arange(60) * np.timedelta64(1, "s")


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    """Learn in processes that have loaded the library; test_label_server.py starts one anew."""
    ready_to_fork()
    forks = SimpleNamespace(get_context=lambda _: CONTEXT)
    monkeypatch.setattr("structsvm.labelling.server.multiprocessing", forks)


class Page:
    """The page of a server in the browser, and what its user does."""

    def __init__(self, browser, server):
        self.browser = browser
        self.server = server
        browser.get(server.address)
        self.until(lambda: self.by_id("page").is_displayed() and self.by_id("where").text)

    def until(self, condition, patience=PATIENCE):
        waiting = WebDriverWait(self.browser, patience, 0.05)
        try:
            return waiting.until(lambda _: condition())
        except TimeoutException:
            pytest.fail(f"the page does not do what it should, and says {self.told!r}")

    def settle(self):
        """Until all that was done is saved, and shown."""
        script = (
            "const done = arguments[0]; import(`${location}net.js`)"
            ".then((net) => net.settled()).then(() => setTimeout(done));"
        )
        self.browser.execute_async_script(script)

    def by_id(self, name):
        return self.browser.find_element(By.ID, name)

    def choose(self, name):
        Select(self.by_id("recording")).select_by_visible_text(name)
        self.until(lambda: f"of {name}." in self.by_id("where").text)
        self.browser.execute_script("document.getElementById('picture').focus()")

    def finely(self, n):
        """Move the cursor by so many samples."""
        keys = ActionChains(self.browser).key_down(Keys.SHIFT)
        keys.send_keys(*[Keys.ARROW_RIGHT] * n).key_up(Keys.SHIFT).perform()

    @property
    def told(self):
        return self.by_id("told").text

    def press(self, *keys, told=None):
        """Press keys, until all is saved; if told, until the page has told this."""
        ActionChains(self.browser).send_keys(*keys).perform()
        self.settle()
        if told is not None:
            self.until(lambda: told in self.told)

    def pixel(self, sample):
        """Where a sample is, from the left of the picture, which shows the whole recording."""
        script = (
            "const r = document.querySelector('#frame rect');"
            "return [Number(r.getAttribute('x')), Number(r.getAttribute('width'))]"
        )
        left, width = self.browser.execute_script(script)
        return left + sample / self.length * width

    @property
    def length(self):
        script = "return document.querySelector('#picture svg').getAttribute('aria-label')"
        return int(self.browser.execute_script(script).rpartition(", ")[2].split()[0])

    def drag(self, start, end, y=20):
        picture = self.by_id("picture")
        self.browser.execute_script("arguments[0].scrollIntoView({ block: 'nearest' })", picture)
        from_middle = self.pixel(start) + 1 - picture.size["width"] / 2
        down = y - picture.size["height"] / 2
        drag = ActionChains(self.browser, duration=50)  # a few moves, each of which draws
        drag.move_to_element_with_offset(picture, round(from_middle), round(down))
        across = round(self.pixel(end) - self.pixel(start))
        drag.click_and_hold().move_by_offset(across, 0).release().perform()
        self.settle()

    def name(self, words):
        self.press(words, Keys.ENTER)

    def lane(self, kind):
        bars = f"#picture rect[data-lane={kind}]"
        script = "return [...document.querySelectorAll(arguments[0])].map((b) => b.dataset.name)"
        return self.browser.execute_script(script, bars)

    def kept(self, name):
        return [tuple(one) for one in self.server.kept.segments[name]]

    def learn(self):
        self.press("l")
        learned = len(self.server.kept.learned)
        self.until(lambda: len(self.server.kept.learned) > learned, LEARNING)
        self.until(lambda: self.by_id("learn").text.startswith("Learn"), LEARNING)


def quiet(browser):
    assert browser.get_log("browser") == [], "the console must stay empty"


def write(folder, some, **times):
    folder.mkdir(exist_ok=True)
    for name, X in some.items():
        features = np.array([f"x{j}" for j in range(X.shape[1])])
        np.savez(folder / f"{name}.npz", X=X, features=features, **times)
    return folder


@pytest.fixture
def page(browser, tmp_path):
    """The page of two recordings of 60 samples with dates, and one of a single sample."""
    rng = np.random.default_rng(0)
    names = ("ann", "<b>ben & 'co'")
    folder = write(tmp_path / "w", {name: rng.normal(size=(60, 3)) for name in names}, time=DATES)
    write(folder, {"short": np.ones((1, 3))}, time=DATES[:1])
    with served(folder) as server:
        page = Page(browser, server)
        page.choose("ann")
        yield page
        quiet(browser)
        browser.get("about:blank")


def demo(folder, monkeypatch):
    """The recordings that ``structsvm demo --label`` writes, and their true segments."""
    with monkeypatch.context() as patched:
        patched.setattr("uvicorn.Server.run", lambda *_, **__: None)
        assert main(["demo", "--label", "--recordings", "5", "-o", str(folder), "--quiet"]) == 0
    shape = {"n_samples": T, "n_features": 5, "n_relevant": 2, "jump": 4.0}
    truths = {}
    for one in relevant_changes(5, **shape, random_state=0):
        edges = [0, *(np.flatnonzero(np.diff(one.y)) + 1).tolist(), T]
        truths[one.name] = list(pairwise(edges))
    return folder / "to_label", truths


def learned_in(model):
    """All that a model file holds, bit for bit, but how many seconds learning took."""
    header, arrays = MODEL.read(model)
    return timeless(header), {name: one.tobytes() for name, one in arrays.items()}


def timeless(value):
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if not name.endswith("seconds")}
    return list(map(timeless, value)) if isinstance(value, list) else value


def test_label_three_recordings_learn_correct_and_fit_learns_the_same(
    browser, tmp_path, monkeypatch
):
    folder, truths = demo(tmp_path / "demo", monkeypatch)
    with served(folder) as server:
        page = Page(browser, server)
        for name in list(truths)[:3]:
            for k, (start, end) in enumerate(truths[name]):
                page.drag(start, end)
                page.name("")
                page.until(lambda k=k, name=name: len(page.kept(name)) == k + 1)
            marked = [(start, end) for start, end, _ in page.kept(name)]
            assert np.abs(np.subtract(marked, truths[name])).max() <= 1  # a pixel is half a sample
            page.press("n")
        page.learn()
        found = server.kept.learned[-1]["found"]
        assert set(found) == set(truths)
        others = list(truths)[3:]
        for name in others:
            ends = [row["start"] for row in found[name]]
            assert np.mean([min(abs(a - b) for b in ends) <= 5 for a, _ in truths[name]]) > 0.6
        assert len(page.lane("found")) == len(found[others[0]])
        assert "Loss on recordings held out in turn" in page.by_id("curve-words").text
        page.press("A", told="accepted where nothing was known. Saved.")
        assert [one[:2] for one in page.kept(others[0])] == [
            (row["start"], row["end"]) for row in found[others[0]]
        ]
        first_end = page.kept(others[0])[0][1]
        page.press(Keys.HOME)
        page.finely(first_end + 2)
        page.press("b", told="is moved. Saved.")
        assert page.kept(others[0])[0][1] == page.kept(others[0])[1][0] == first_end + 2
        page.learn()
        quiet(browser)
        browser.get("about:blank")
    fitted = tmp_path / "fitted.structsvm"
    line = ["fit", "change-point", folder, "--labels", folder / "labels", "--baselines", "none"]
    assert main([*map(str, line), "-o", str(fitted), "--quiet"]) == 0
    there, here = map(learned_in, (folder / "labels" / "model.structsvm", fitted))
    assert there[0] == here[0]
    assert there[1] == here[1]


@pytest.mark.usefixtures("all_trees")  # as the process has that learns beside the page
def test_states_with_names_are_learned_where_names_are_given(browser, tmp_path):
    """A recording of each is labelled by keys alone; the model is again that of fit."""
    rng = np.random.default_rng(0)
    levels = np.repeat([0, 3, 0, 3], 16)
    some = {f"r{k}": levels[:, None] + rng.normal(scale=0.5, size=(64, 2)) for k in range(4)}
    folder = write(tmp_path / "named", some)
    with served(folder) as server:
        page = Page(browser, server)
        for name in ("r0", "r1", "r2"):
            page.press(Keys.HOME)
            for end in (16, 32, 48, 64):
                page.press("s", told="begins at")
                page.finely(15)
                page.press("s", NAMES[(end // 16 - 1) % 2], Keys.ENTER, told="Saved.")
                page.until(lambda name=name, end=end: page.kept(name)[-1][1] == end)
                page.finely(8)  # from the middle of the segment
            page.press("n")
        truth = [(16 * k, 16 * k + 16, NAMES[k % 2]) for k in range(4)]
        assert all(page.kept(name) == truth for name in ("r0", "r1", "r2"))
        page.learn()
        assert page.lane("found") == [*NAMES, *NAMES]
        page.press("A", told="accepted where nothing was known. Saved.")
        assert [one[2] for one in page.kept("r3")] == [*NAMES, *NAMES]
        quiet(browser)
        browser.get("about:blank")
    server.kept.step(-1)  # to what was learned from
    fitted = tmp_path / "fitted.structsvm"
    line = ["fit", "change-point", folder, "--labels", folder / "labels", "--baselines", "none"]
    line += ["--method", "states-quick", "-o", fitted, "--quiet"]
    assert main(list(map(str, line))) == 0
    there, here = map(learned_in, (folder / "labels" / "model.structsvm", fitted))
    assert there[0] == here[0]
    assert there[1] == here[1]


def test_a_sample_has_one_label_whatever_is_dragged(page):
    page.drag(10, 30)
    page.name("walk")
    page.drag(20, 40)
    page.name("rest")
    (first, second) = page.kept("ann")
    assert (first[2], second[2]) == ("walk", "rest")
    assert first[1] == second[0] == pytest.approx(20, abs=1)
    edge = page.browser.find_element(By.CSS_SELECTOR, f"#picture [data-edge='{first[1]}']")
    across = round(page.pixel(25) - page.pixel(first[1]))
    ActionChains(page.browser).drag_and_drop_by_offset(edge, across, 0).perform()
    page.until(lambda: "is moved. Saved." in page.told)
    (first, second) = page.kept("ann")
    assert first[1] == second[0] == pytest.approx(25, abs=1)
    page.drag(5, 50)
    page.name("turn")
    assert [one[2] for one in page.kept("ann")] == ["turn"]
    for states in (2, 2, 2, 1, 1, 0):
        assert len(page.kept("ann")) == states or page.told
        page.press("z", told="Undone.")
        page.until(lambda: page.by_id("told").text == "Undone.")


def test_labelling_works_by_keyboard_alone(page):
    page.press(Keys.TAB)  # wherever the focus is
    page.browser.execute_script("document.activeElement.blur()")
    page.press(Keys.HOME, "s", *[Keys.ARROW_RIGHT] * 9, "s")
    page.name("walk")
    (start, end, name) = page.kept("ann")[0]
    assert (start, name) == (0, "walk")
    page.press(Keys.END, "x", told="nothing there")
    assert page.kept("ann")[1] == (end, 60, "nothing")
    page.press("s", *[Keys.ARROW_LEFT] * 5, "1", told="“walk” from")
    page.until(lambda: page.kept("ann")[-1][2] == "walk")
    page.press(Keys.DELETE, told="Unknown again")
    page.until(lambda: [one[2] for one in page.kept("ann")] == ["walk", "nothing"])
    page.press("s", told="begins at")
    page.press(Keys.ESCAPE, "z", told="Undone.")
    page.until(lambda: len(page.kept("ann")) == 3)
    page.press("n")
    page.until(lambda: page.by_id("recording").get_property("value") == "2")
    page.press("p", "p")
    page.until(lambda: page.by_id("recording").get_property("value") == "0")
    assert page.by_id("recording").text.splitlines()[0] == "<b>ben & 'co'"


def test_names_with_markup_are_shown_as_text(page):
    page.drag(10, 30)
    page.name("<img src=x onerror=alert(1)> & <b>")
    assert page.kept("ann")[0][2] == "<img src=x onerror=alert(1)> & <b>"
    assert page.lane("label") == ["<img src=x onerror=alert(1)> & <b>"]
    assert page.browser.find_elements(By.CSS_SELECTOR, "main img, main b") == []
    rows = page.by_id("table").text
    assert "<img src=x onerror=alert(1)> & <b>" in rows
    assert "unknown" in rows


def test_times_are_in_the_units_of_the_user_and_in_a_table_for_screen_readers(page):
    page.press(Keys.HOME, "s")
    page.finely(9)
    page.press("s")
    page.name("walk")
    rows = page.browser.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    assert cells[0][:4] == ["walk", "label", "2024-03-01 12:00:00", "2024-03-01 12:00:10"]
    assert cells[1][:2] == ["unknown", "label"]
    assert rows[0].get_attribute("aria-selected") == "true"
    for element in ("told", "where", "doing"):
        assert page.by_id(element).get_attribute("role") == "status"
    named = "return [...document.querySelectorAll('button, input, select')].filter((one) => "
    named += "!(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"
    assert page.browser.execute_script(named) == 0


def test_a_recording_of_one_sample_is_labelled_in_the_browser(page):
    page.choose("short")
    page.press("x", told="nothing there")
    assert page.kept("short") == [(0, 1, "nothing")]


def test_a_second_tab_is_refused_and_a_page_may_be_reloaded(page):
    page.drag(10, 30)
    page.name("walk")
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.browser.get(page.server.address)
    page.until(lambda: "open in another tab" in page.told)
    assert not page.by_id("page").is_displayed()
    assert [one["level"] for one in page.browser.get_log("browser")] == ["SEVERE"]  # the refusal
    page.browser.close()
    page.browser.switch_to.window(first)
    page.browser.refresh()
    page.until(lambda: page.by_id("page").is_displayed() and page.by_id("where").text)
    page.choose("ann")
    page.until(lambda: page.lane("label") == ["walk"])


def test_a_wrong_token_is_refused_with_a_sentence(page):
    page.browser.get(page.server.address[:-5] + "/")
    assert "lacks its token" in page.browser.find_element(By.TAG_NAME, "body").text
    page.browser.get_log("browser")


def test_a_change_that_cannot_be_saved_is_reported_and_undone(page, tmp_path):
    page.drag(10, 30)
    page.name("walk")
    with np.load(tmp_path / "w" / "ann.npz") as there:
        arrays = dict(there)
    np.savez(tmp_path / "w" / "ann.npz", **arrays, more=0)
    page.drag(40, 50)
    page.until(lambda: "has changed since it was read" in page.told)
    assert page.lane("label") == ["walk"]
    page.browser.get_log("browser")


def test_the_page_says_that_the_server_has_ended(browser, tmp_path):
    folder = write(tmp_path / "w", {"ann": np.zeros((60, 2))})
    with served(folder) as server:
        page = Page(browser, server)
    page.until(lambda: "has ended" in page.told)
    page.drag(10, 30)
    page.until(lambda: "Not saved: structsvm label has ended" in page.told)
    assert page.lane("label") == []
    browser.get_log("browser")


def test_learning_can_be_stopped_and_its_errors_are_shown(page):
    page.press("l")
    page.until(lambda: page.by_id("learn").text.startswith("Stop"))
    page.press("l")
    page.until(lambda: page.by_id("learn").text.startswith("Learn"))
    assert page.server.kept.learned == []
    assert not (page.server.kept.table.parent / "model.structsvm").exists()
    page.press("l")  # without a single label
    page.until(
        lambda: "label" in page.told and "refused" in page.by_id("told").get_attribute("class")
    )
    page.until(lambda: page.by_id("learn").text.startswith("Learn"))


def test_sound_goes_in_step_with_the_cursor(browser, tmp_path):
    X = np.zeros((60, 2))
    folder = write(tmp_path / "w", {"ann": X, "ben": X}, time=0.1 * np.arange(60))
    write_media(folder / "ann.wav", tone(440, 6))
    with served(folder) as server:
        page = Page(browser, server)
        (sound,) = browser.find_elements(By.CSS_SELECTOR, "#media audio")
        page.until(lambda: sound.get_property("duration"))
        page.press(Keys.END)
        page.until(lambda: abs(sound.get_property("currentTime") - 5.9) < 0.1)
        browser.execute_script("arguments[0].currentTime = 3", sound)
        page.until(lambda: "time 3" in page.by_id("where").text)
        page.press("n")
        page.until(lambda: not browser.find_elements(By.CSS_SELECTOR, "#media audio"))
        quiet(browser)
        status, headers, _ = Asking(server.address).ask("media/0", Range="bytes=0-99")
        assert (status, headers["Content-Length"]) == (206, "100")
        browser.get("about:blank")


def test_films_without_sound_are_recordings_with_their_film_beside(browser, tmp_path):
    pictures = np.zeros((40, 48, 64, 3), dtype=np.uint8)
    pictures[20:] = 200
    (tmp_path / "films").mkdir()
    write_media(tmp_path / "films" / "silent.mkv", pictures=pictures)
    with served(tmp_path / "films") as server:
        page = Page(browser, server)
        page.until(lambda: "cannot play" in page.told)  # Chromium does not decode these pictures
        assert browser.find_elements(By.CSS_SELECTOR, "#media *") == []
        page.drag(0, 10)
        page.name("dark")
        assert page.kept("silent")[0][2] == "dark"
        browser.get_log("browser")
        browser.get("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_labels_is_legible_on_light_and_dark(page, scheme):
    for name, contrast in contrasts(page.browser, scheme, ["ink", "soft", "learned", "no"]).items():
        assert contrast >= 4.5, (name, contrast)


def test_the_page_of_labels_scrolls_down_only_on_a_phone(page):
    page.drag(10, 30)
    page.name("a name that is rather long, as those of people often are")
    with screen_of(page.browser, 390, 844, mobile=True):
        page.browser.refresh()
        page.until(lambda: page.by_id("page").is_displayed() and page.by_id("where").text)
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= 390
        assert page.by_id("picture").size["width"] <= 390


def test_accepted_predictions_never_replace_labels(page, monkeypatch):
    found = [
        {"start": 0, "end": 20, "state": "a", "margin": None},
        {"start": 20, "end": 40, "state": "b", "margin": 3.0},
        {"start": 40, "end": 60, "state": "a", "margin": 0.5},
    ]
    kept = page.server.kept
    kept.keep({"learned": {"found": {"ann": found}, "said": [], "labelled": 0.1}})
    page.browser.refresh()
    page.until(lambda: page.by_id("page").is_displayed() and page.by_id("where").text)
    page.choose("ann")
    page.until(lambda: page.lane("found") == ["a", "b", "a"])
    page.press("m", told="The change at")
    page.press("c", told="is accepted. Saved.")
    assert page.kept("ann") == [(29, 40, "b"), (40, 51, "a")]
    page.browser.execute_script("document.getElementById('margin').value = 1")
    page.press("g", told="1 stretches in 1 recordings are accepted. Saved.")
    assert page.kept("ann") == [(0, 20, "a"), (29, 40, "b"), (40, 51, "a")]
    page.press(Keys.DELETE, told="Unknown again")
    page.press("x", told="nothing there")
    assert page.kept("ann") == [(0, 20, "a"), (29, 40, "b"), (40, 60, "nothing")]
    page.press("A", told="What was found in this recording is accepted")
    assert page.kept("ann") == [(0, 20, "a"), (20, 40, "b"), (40, 60, "nothing")]
    page.press("a", told="is accepted. Saved.")
    page.until(lambda: page.kept("ann")[-1] == (40, 60, "a"))
    assert json.dumps(kept.segments)
