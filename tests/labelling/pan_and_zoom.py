"""How long the page of labels takes to pan and to zoom in 1,000,000 x 8 samples, in a real browser:

    PYTHONPATH=tests python tests/labelling/pan_and_zoom.py

That is from a key to the picture with the new traces, and with all that the server does for them.
"""

import tempfile
from pathlib import Path

import numpy as np
from browsers import chromium
from label_kit import served
from selenium.webdriver.support.ui import WebDriverWait

SHAPE = 1_000_000, 8
KEYS = {"zoom in": ["+"] * 12, "pan": ["PageDown"] * 20, "zoom out": ["-"] * 12}

WATCH = """
const [key, done] = arguments;
const began = performance.now();
const seen = performance.getEntriesByName('drawn').length;
const event = new KeyboardEvent('keydown', { key, bubbles: true });
document.getElementById('picture').dispatchEvent(event);
const look = () => {
  if (performance.getEntriesByName('drawn').length > seen) done(performance.now() - began);
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
            for what, keys in KEYS.items():
                taken = [browser.execute_async_script(WATCH, key) for key in keys]
                print(f"{what:8} median {np.median(taken):.0f} ms, most {max(taken):.0f} ms")
            browser.get("about:blank")


if __name__ == "__main__":
    main()
