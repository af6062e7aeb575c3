"""Pan and zoom of the page of labels: a recording of 1,000,000 x 8 samples in a real browser.

From the key that pans or zooms to the picture that shows the new traces, as the page itself measures
it, with what the server takes for them. Chromium with its driver is needed.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path[:0] = ["tests", "tests/labelling"]
from browsers import chromium
from label_kit import served
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SHAPE = 1_000_000, 8
KEYS = {"zoom in": "+" * 12, "pan": Keys.PAGE_DOWN * 20, "zoom out": "-" * 12}

WATCH = """
const [key, done] = arguments;
const began = performance.now();
const seen = performance.getEntriesByName('drawn').length;
document.getElementById('picture').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const look = () => {
  if (performance.getEntriesByName('drawn').length > seen) done(performance.now() - began);
  else if (performance.now() - began > 5000) done(null);
  else requestAnimationFrame(look);
};
look();
"""


def main() -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        X = np.cumsum(rng.normal(size=SHAPE), axis=0)
        np.savez(Path(folder) / "long.npz", X=X, time=np.arange(len(X)) / 100)
        with served(Path(folder)) as server:
            browser.get(server.address)
            WebDriverWait(browser, 60).until(
                lambda b: b.execute_script("return performance.getEntriesByName('drawn').length")
            )
            browser.execute_script("document.getElementById('picture').focus()")
            for what, keys in (("zoom in", "+" * 12), ("pan", ["PageDown"] * 20), ("zoom out", "-" * 12)):
                taken = [browser.execute_async_script(WATCH, key) for key in keys]
                known = [one for one in taken if one is not None]
                print(f"{what:9} n={len(known)} median {np.median(known):.0f} ms, most {max(known):.0f} ms")
            browser.get("about:blank")


if __name__ == "__main__":
    main()
