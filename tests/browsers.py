"""A real browser for the tests of pages, which are skipped where there is none."""

import shutil
from contextlib import contextmanager

import pytest
from selenium import webdriver

PROGRAMS = {
    "browser": ("chromium", "chromium-browser", "google-chrome"),
    "driver": ("chromedriver",),
}


@contextmanager
def chromium():
    """A headless Chromium, which `make test` installs where it may."""
    found = {
        what: next((path for name in names if (path := shutil.which(name))), None)
        for what, names in PROGRAMS.items()
    }
    if None in found.values():
        pytest.skip("no Chromium with its driver: sudo apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found["browser"]
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1200,900"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found["driver"]))
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def screen_of(browser, width, height, mobile=False):
    """A screen of so many pixels, as of a phone."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        yield browser
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def luminance(color: str) -> float:
    parts = [int(color.lstrip("#")[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrasts(page, scheme, names):
    """The contrast of some colours of a page to its paper, in light or in dark."""
    wanted = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
    script = (
        "const style = getComputedStyle(document.documentElement);"
        "return arguments[0].map(name => style.getPropertyValue('--' + name))"
    )
    paper, *inks = (luminance(value) for value in page.execute_script(script, ["paper", *names]))
    assert (paper > 0.5) == (scheme == "light")
    pairs = zip(names, inks, strict=True)
    return {name: (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) for name, ink in pairs}
