"""The screenshots of docs/console: ``python3 dev.py pictures`` takes them again.

Everything on them is made here; times and ids differ from run to run.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from emulator.testing import Emulator
from tests.console import scene
from tests.console.browser import MISSING, chromium, resize

FOLDER = Path(__file__).parents[2] / "docs" / "console"
DARK = {"execution", "queue"}
"""Pages that are shown in the dark as well."""

_HIDE = """
for (const each of document.querySelectorAll("code")) {
  each.textContent = each.textContent.replace(arguments[0], "/home/you/project/functions");
}
"""
"""The folder of this run is nobody's."""


def main():
    """Take a picture of every page."""
    if MISSING:
        print(f"{' and '.join(MISSING)} missing: python3 dev.py browser", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=Path.home()) as folder:
        scene.write_functions(Path(folder))
        with Emulator(functions=Path(folder)) as localyun, chromium() as browser:
            names = scene.build(localyun)
            browser.get(localyun.endpoint + localyun.api.admin("POST", "console-link")["path"])
            for name, page in scene.PAGES.items():
                for theme in ("light", "dark") if name in DARK else ("light",):
                    resize(browser, 1280, 860, theme)
                    browser.get(f"{localyun.endpoint}/_localyun/console{page.format_map(names)}")
                    if name == "execution":
                        browser.find_element(By.CSS_SELECTOR, ".step[data-step=prepare]").click()
                        WebDriverWait(browser, 20).until(lambda driver: driver.find_elements(By.ID, "chosen"))
                        WebDriverWait(browser, 20).until(
                            lambda driver: driver.find_elements(
                                By.CSS_SELECTOR, ".step[data-step=long][data-state=running]"
                            )
                        )
                    browser.execute_script(_HIDE, folder)
                    path = FOLDER / f"{name}{'-dark' if theme == 'dark' else ''}.png"
                    browser.save_screenshot(str(path))
                    print(path.relative_to(FOLDER.parents[1]), path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
