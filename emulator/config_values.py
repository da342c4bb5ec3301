"""How the values of settings are read: from a text, or from a value of ``localyun.yaml``, to the field's value.

Each reader gets the folder that relative paths start from and raises ValueError with what was expected.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

AUTO_PORT = -1
"""The text ``auto`` for a port: ``start`` takes the usual one, or the next that is free."""

_MOST_DAYS = 36_500
_SCALES = (0.001, 10)


def read_hosts(value: Any, _: Path) -> tuple[str, ...]:
    """Read addresses or names: a list, or a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
        hosts = tuple(part.strip().strip("[]") for part in parts)
        if hosts and all(hosts):
            return hosts
    raise ValueError("an address or a list of addresses")


def _whole(value: Any, most: int, expected: str) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(most)):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(expected)
    return value


def read_port(value: Any, _: Path) -> int:
    """Read a port, which may be ``auto``."""
    return AUTO_PORT if value == "auto" else _whole(value, 65535, "a whole number from 0 to 65535")


def read_days(value: Any, _: Path) -> int:
    """Read a number of days."""
    return _whole(value, _MOST_DAYS, f"a whole number of days up to {_MOST_DAYS}, 0 for ever")


def read_scale(value: Any, _: Path) -> float:
    """Read a factor."""
    lowest, highest = _SCALES
    try:
        scale = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        scale = float("nan")
    if not lowest <= scale <= highest:  # no comparison holds for what is no number
        raise ValueError(f"a number from {lowest} to {highest}")
    return scale


def read_path(value: Any, folder: Path) -> Path:
    """Read a path."""
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError("the path of a folder")
    return folder / Path(value).expanduser()


def read_folder(value: Any, folder: Path) -> Path:
    """Read the path of a folder that is there."""
    path = read_path(value, folder)
    if not path.is_dir():
        raise ValueError("the path of an existing folder")
    return path


def read_switch(value: Any, _: Path) -> bool:
    """Read true or false, also written as text."""
    if isinstance(value, bool):
        return value
    texts = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if not isinstance(value, str) or value.lower() not in texts:
        raise ValueError("true or false")
    return texts[value.lower()]


def one_of(*choices: str) -> Callable[[Any, Path], str]:
    """Make a reader of one of *choices*."""

    def read(value: Any, _: Path) -> str:
        if value not in choices:
            raise ValueError(" or ".join(choices))
        return str(value)

    return read


def _matching(form: str, expected: str, *, number: bool = False) -> Callable[[Any, Path], str]:
    """Make a reader of texts of that form; with *number* a whole number of the file counts as its digits."""

    def read(value: Any, _: Path) -> str:
        if number and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not re.fullmatch(form, value):
            raise ValueError(expected)
        return value

    return read


read_key_id = _matching("[A-Za-z0-9._-]{1,128}", "1 to 128 letters, digits, dots, hyphens and underscores")
read_key_secret = _matching("[ -~]{1,128}", "1 to 128 printable ASCII characters")
read_account = _matching("[0-9]{1,32}", "1 to 32 digits", number=True)
read_region = _matching("[a-z][a-z0-9-]{0,63}", "the id of a region such as cn-hangzhou")


def read_runtimes(value: Any, folder: Path) -> dict[str, Path]:
    """Read executables by the names of runtimes; a bare command name is looked up on ``PATH``."""
    expected = "a mapping of runtime names to executables (in the environment: NAME=PATH,NAME=PATH)"
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",")]
        if not all(mark for _, mark, _ in pairs):
            raise ValueError(expected)
        value = {name.strip(): path.strip() for name, _, path in pairs}
    found = {}
    for name, path in value.items() if isinstance(value, dict) else [("", value)]:
        if not isinstance(name, str) or not name or not isinstance(path, str) or not path:
            raise ValueError(expected)
        found[name] = _executable(path, folder)
    return found


def _executable(text: str, folder: Path) -> Path:
    if "/" not in text:
        import shutil  # looked up on PATH only when a bare command name is given; slow to import for every start

        text = shutil.which(text) or text
    path = folder / Path(text).expanduser()
    if not path.is_file():
        raise ValueError(f"a mapping to existing executables; there is no {text}")
    return path
