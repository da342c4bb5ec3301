"""The examples of the pages run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.sdk
@pytest.mark.parametrize("snippet", SNIPPETS, ids=["classic", "newer"])
def test_sdk_settings_of_the_readme_reach_the_emulator(emulator, snippet):
    """Each snippet calls a function and lists flows, with nothing but the variables of `localyun env` set."""
    env = {
        "LOCALYUN_ENDPOINT": emulator.url,
        "LOCALYUN_REGION": emulator.keys["region"],
        "ALIBABA_CLOUD_ACCESS_KEY_ID": emulator.keys["accessKeyId"],
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": emulator.keys["accessKeySecret"],
    }

    done = subprocess.run(
        [sys.executable, "-c", snippet], env=env, cwd=emulator.folder, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert "job_id" in done.stdout or "Hello" in done.stdout
