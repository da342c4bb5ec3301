"""What ``start`` tells once calls are served, in a few lines."""

import shutil
import sys
from pathlib import Path
from typing import Any

from emulator.config import Config
from emulator.keyfile import FILE_NAME as KEY_FILE

FUNCTIONS_NAMED = 6
"""More functions than this are counted, not named."""


def lines(config: Config, status: dict[str, Any]) -> list[str]:
    """Return addresses, account, region, keys and functions of an emulator with this *status*."""
    ports = status.get("ports", {})
    told = [
        f"localyun {status.get('version', '')} is serving",
        f"  http       {ports.get('http', '')}",
        f"  https      {ports.get('https', '')}",
        f"  account    {status.get('account', '')}",
        f"  region     {status.get('region', '')}",
    ]
    return told


def command() -> str:
    """Return how this user calls the command: by name, by the path of an environment, or through Python."""
    if shutil.which("localyun"):
        return "localyun"
    script = Path(sys.executable).with_name("localyun")
    if script.exists():
        here = Path.cwd()
        return str(script.relative_to(here)) if script.is_relative_to(here) else str(script)
    return f"{sys.executable} -m emulator"
