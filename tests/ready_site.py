"""The documentation's site, built once for all processes of a run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.once import once

ROOT = Path(__file__).parents[1]


def built(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; a test fails with what was printed where it could not be built."""
    told = once(factory, "site", lambda: _build(factory.mktemp("site")))
    assert told["code"] == 0, told["printed"]
    return Path(told["folder"])


def _build(folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build"),
            *("--config-file", ROOT / "tools" / "mkdocs.yml", "--site-dir", folder),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    return {"folder": str(folder), "code": done.returncode, "printed": done.stdout + done.stderr}
