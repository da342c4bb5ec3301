"""The examples of the pages run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = {
    f"{name} {number}": text
    for name in ("README.md", "docs/quickstart.md")
    for number, text in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL), 1
    )
}


@pytest.mark.sdk
@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS)
def test_first_programs_reach_the_emulator(emulator, snippet):
    """Each asks a service or a queue, with nothing but the variables of `localyun env` set."""
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
    assert "fnf-demo" in done.stdout or "hello" in done.stdout
