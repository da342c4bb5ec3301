"""The screenshots of docs/console: ``python3 dev.py pictures`` takes them again.

Everything on them is made here; times and ids differ from run to run. ``python3 dev.py pictures FOLDER`` puts every
page into a folder instead, whole, narrow, wide and very wide, in both languages, and a sheet of each to look at.
"""

import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from emulator.testing import Emulator
from tests.console import scene
from tests.console.browser import MISSING, chromium, resize
from tests.console.walking import ROOT, speak

FOLDER = Path(__file__).parents[2] / "docs" / "console"
DARK = {"execution", "queue"}
"""Pages that are shown in the dark as well."""

_HIDE = """
for (const each of document.querySelectorAll("code")) {
  each.textContent = each.textContent.replace(arguments[0], "/home/you/project/functions");
}
"""
"""The folder of this run is nobody's."""


WIDTHS = (390, 1440, 2560)
TALLEST = 9_000
SHEET = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px sans-serif; margin: 10px }}
figure {{ display: inline-block; margin: 6px; vertical-align: top }}
img {{ width: {width}px; border: 1px solid #999 }}</style>
{figures}"""


def main():
    """Take a picture of every page."""
    if MISSING:
        print(f"{' and '.join(MISSING)} missing: python3 dev.py browser", file=sys.stderr)
        return 1
    with TemporaryDirectory(dir=Path.home()) as folder:
        scene.write_functions(Path(folder))
        with Emulator(functions=Path(folder)) as localyun, chromium() as browser:
            names = scene.build(localyun)
            browser.get(localyun.endpoint + localyun.api.admin("POST", "console-link")["path"])
            if sys.argv[1:]:
                every(browser, localyun, names, Path(sys.argv[1]))
            else:
                kept(browser, localyun, names, folder)
    return 0


def kept(browser, localyun, names, functions):
    """Take the pictures that the documentation shows."""
    text = FOLDER.with_suffix(".md").read_text(encoding="utf-8")
    for name, page in scene.PAGES.items():
        if f"console/{name}.png" not in text:
            continue
        for theme in ("light", "dark") if name in DARK else ("light",):
            resize(browser, 1280, 860, theme)
            browser.get(f"{localyun.endpoint}{ROOT}{page.format_map(names)}")
            if name == "execution":
                browser.find_element(By.CSS_SELECTOR, ".step[data-step=prepare]").click()
                WebDriverWait(browser, 20).until(lambda driver: driver.find_elements(By.ID, "chosen"))
                WebDriverWait(browser, 20).until(
                    lambda driver: driver.find_elements(By.CSS_SELECTOR, ".step[data-step=long][data-state=running]")
                )
            browser.execute_script(_HIDE, functions)
            path = FOLDER / f"{name}{'-dark' if theme == 'dark' else ''}.png"
            browser.save_screenshot(str(path))
            print(path.relative_to(FOLDER.parents[1]), path.stat().st_size)


def every(browser, localyun, names, folder):
    """Take each page whole, at each width in each language, and make a sheet of each to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in ("en", "zh"):
        speak(browser, localyun, language)
        for width in WIDTHS:
            for name, page in scene.PAGES.items():
                resize(browser, width, 900)
                browser.get(f"{localyun.endpoint}{ROOT}{page.format_map(names)}")
                (folder / f"{name}-{width}-{language}.png").write_bytes(whole(browser, width))
            figures = "\n".join(
                f'<figure><figcaption>{name}</figcaption><img src="{name}-{width}-{language}.png"></figure>'
                for name in scene.PAGES
            )
            sheet = folder / f"{width}-{language}.html"
            title = f"{width} {language}"
            sheet.write_text(SHEET.format(title=title, width=min(width, 900), figures=figures), encoding="utf-8")
            print(sheet)


def whole(browser, width):
    """Return the picture of the whole page in a window of 900 px: what follows the window's height stays as it is."""
    WebDriverWait(browser, 20).until(lambda driver: not driver.find_elements(By.CSS_SELECTOR, "[data-follow]:empty"))
    tall = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": max(900, min(tall, TALLEST)), "scale": 1}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    return b64decode(taken["data"])


if __name__ == "__main__":
    sys.exit(main())
