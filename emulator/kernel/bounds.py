"""Path limits for a command that may use the files of one folder only, such as the tools of an assistant."""

from pathlib import Path
from typing import Final

STATE: Final = ".localyun"
"""What an emulator's own folder is called; it holds keys."""


def is_within(path: Path, folder: Path) -> bool:
    """Whether *path*, followed through links, is in *folder* and not in an emulator's state there."""
    found, top = path.resolve(), folder.resolve()
    return found.is_relative_to(top) and STATE not in found.relative_to(top).parts
