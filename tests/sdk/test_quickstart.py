"""The quick start, typed as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mns")

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


def test_quick_start_works_in_an_empty_folder(tmp_path):
    """Every command after the installation succeeds and prints what the page says."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    for name, words in (("localyun", "-m emulator"), ("python", "")):
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (scripts / name).chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    (tmp_path / "first.py").write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    text = re.sub(r"```python\n.*?```", "", PAGE.split("## A function")[1], flags=re.DOTALL)
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    typed = "\n".join(lines).replace('eval "$(localyun env)"', 'eval "$(localyun env)"\npython ../first.py')
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
    settings = {"LOCALYUN_PORT": "0", "LOCALYUN_HTTPS_PORT": "0", "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh"}

    done = subprocess.run(
        ["sh", "-e", "-c", typed], cwd=folder,
        env=inherited | settings | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip

    subprocess.run(
        [scripts / "localyun", "stop"], cwd=folder, env=inherited | settings, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '{"greeting": "Hello, world"}' in done.stdout
    assert "b'hello'" in done.stdout
    assert "Succeeded: " in done.stdout
    assert 'execution Succeeded: {"s":"ok"}' in done.stdout
    assert (folder / "greeting.svg").exists()
