"""Pictures of the report's page and of every figure on it, light, dark and on a phone, taken in headless Chromium.

    python tools/screenshots.py WHAT [OUT]

WHAT is a page, or a directory of a study's results (or several studies'); OUT gets the PNG files, `out/screenshots` by
default.
"""

import argparse
import base64
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver

from tdlambda.lab.report.page import load, page, studies_in

SIZES = {"light": (1200, 900), "dark": (1200, 900), "phone": (375, 812)}
INSTALL = "apt-get install -y chromium chromium-driver"


@contextmanager
def browser(downloads: Path | None = None) -> Iterator[Any]:
    """Headless Chromium with a fresh profile; what it downloads goes to `downloads`."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        raise RuntimeError(f"no {'chromedriver' if chromium else 'chromium'} here; install both: {INSTALL}")
    with tempfile.TemporaryDirectory(prefix="tdlambda-chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (
            "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
            "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
            "force-color-profile=srgb", "hide-scrollbars", "window-size=1200,900", f"user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if downloads is not None:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            yield chrome
        finally:
            chrome.quit()


def resize(chrome: Any, width: int, height: int, density: float = 1) -> None:
    """Emulate a screen of this size, which may be narrower than a window can be."""
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": density, "mobile": width < 600},
    )


def prefer(chrome: Any, theme: str) -> None:
    """Emulate a system with a light or a dark theme."""
    features = [{"name": "prefers-color-scheme", "value": theme}]
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(chrome: Any, more: int = 1) -> None:
    """Wait until everything has been drawn this many times."""
    chrome.set_script_timeout(60)
    chrome.execute_async_script(
        """const [more, done] = arguments;
        const drawn = () => Number(document.body.dataset.drawn || 0);
        const look = () => (drawn() >= more ? done() : setTimeout(look, 20)); look();""",
        more,
    )


def take(chrome: Any, out: Path, name: str) -> Iterator[Path]:
    """Pictures of the whole page and of every figure shown on it."""
    chrome.execute_script("document.getElementById('controls').style.position = 'static'")
    boxes = chrome.execute_script(
        """const all = [["page", document.documentElement], ["top", document.querySelector(".answers")]];
        for (const s of document.querySelectorAll("#opening:not([hidden])")) all.push([s.id, s]);
        for (const s of document.querySelectorAll("section[data-figure]:not([hidden])")) all.push([s.id, s]);
        return all.map(([name, node]) => { const b = node.getBoundingClientRect();
          return [name, b.left + scrollX, b.top + scrollY, b.width, b.height]; });"""
    )
    for figure, x, y, width, height in boxes:
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        if figure != "page":
            clip |= {"x": max(x - 16, 0), "width": width + min(x, 16) * 2, "height": height + 16}
        shot = chrome.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        path = out / f"{name}-{figure}.png"
        path.write_bytes(base64.b64decode(shot["data"]))
        yield path


def main(what: Path, out: Path) -> None:
    """Take the pictures in all sizes."""
    out.mkdir(parents=True, exist_ok=True)
    file = what if what.suffix == ".html" else out / "report.html"
    if file is not what:
        views, manifests = load(studies_in(what))
        file.write_text(page(*views, manifests=manifests), encoding="utf-8")
    with browser() as chrome:
        for name, size in SIZES.items():
            resize(chrome, *size, density=2 if name == "phone" else 1)
            prefer(chrome, "dark" if name == "dark" else "light")
            chrome.get("about:blank")
            chrome.get(file.resolve().as_uri())
            wait(chrome)
            for path in take(chrome, out, name):
                print(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", metavar="WHAT", type=Path, help="a page, or a directory of results")
    parser.add_argument("out", metavar="OUT", nargs="?", type=Path, default=Path("out/screenshots"))
    options = parser.parse_args()
    main(options.what, options.out)
