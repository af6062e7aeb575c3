"""Take the picture of the page of labels that the documentation shows, with Chromium:

PYTHONPATH=tests python tests/labelling/picture.py docs/_static/label.png
"""

import base64
import sys
import tempfile
from pathlib import Path

import numpy as np
from browsers import chromium, screen_of
from label_kit import served
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

LEVELS = {"rest": (0.0, 0.2, 0.0), "walk": (1.2, 1.0, 0.3), "stairs": (1.6, 1.1, 1.4)}
ORDERS = (
    *(["rest", "walk", "stairs", "walk", "rest"], ["walk", "rest", "stairs", "rest", "walk"]),
    *(["rest", "stairs", "walk", "rest", "walk"], ["walk", "stairs", "rest", "walk", "stairs"]),
)


def write(folder, rng):
    """Write recordings of somebody's day, at 10 Hz; the segments of each."""
    truths = {}
    for k, order in enumerate(ORDERS):
        edges = np.cumsum([0, *rng.integers(90, 200, len(order))])
        levels = np.repeat([LEVELS[name] for name in order], np.diff(edges), axis=0)
        swing = np.sin(2.2 * np.arange(len(levels)))[:, None] * levels * 0.5
        X = levels + swing + rng.normal(scale=0.25, size=levels.shape)
        about = {"features": np.array(["effort", "swing", "climb"])}
        np.savez(folder / f"day{k + 1}.npz", X=X, time=np.arange(len(X)) / 10, **about)
        truths[f"day{k + 1}"] = [
            (int(edges[j]), int(edges[j + 1]), name) for j, name in enumerate(order)
        ]
    return truths


def pictures(path, width=1200, height=800, scheme="light"):
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder) / "days"
        place.mkdir()
        truths = write(place, np.random.default_rng(0))
        with served(place) as server, screen_of(browser, width, height):
            media = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
            server.kept.change({name: truths[name] for name in ("day1", "day2", "day3")})
            browser.get(server.address)
            until = WebDriverWait(browser, 300).until
            until(lambda b: b.find_element(By.ID, "where").text)
            ActionChains(browser).send_keys("l").perform()
            until(lambda _: server.kept.learned and "loss" in server.kept.learned[-1])
            until(lambda b: b.find_element(By.ID, "learn").text.startswith("Learn"))
            ActionChains(browser).send_keys("nnn").perform()
            until(lambda b: "of day4" in b.find_element(By.ID, "where").text)
            ActionChains(browser).send_keys("mc").perform()
            until(lambda b: "Saved" in b.find_element(By.ID, "told").text)
            drawn = "return performance.getEntriesByName('drawn').length"
            before = browser.execute_script(drawn)
            ActionChains(browser).send_keys("0").perform()
            until(lambda b: b.execute_script(drawn) > before)
            for end in ("", "_below"):
                shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                content = base64.b64decode(shot["data"])
                path.with_stem(path.stem + end).write_bytes(content)
                browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
            browser.get("about:blank")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        pictures(Path(sys.argv[1]))
    else:  # to be looked at: width, height and scheme
        pictures(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
