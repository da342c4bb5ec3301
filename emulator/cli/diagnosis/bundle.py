"""The archive that `support` packs: logs, settings, versions and findings, each without secrets."""

import json
import os
import platform
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from emulator import __version__
from emulator.cli.diagnosis.secrets import Secrets
from emulator.config import FILE_NAME, Config

LOG_BYTES = 2 * 1024 * 1024
"""So much of the end of each log is packed."""

_MOST_ENTRIES = 2000


def write(target: Path, config: Config, secrets: Secrets, documents: Mapping[str, Any]) -> list[str]:
    """Write the archive *target* for its owner only and return the names in it.

    *documents* are packed as JSON under their names, beside versions, the listing and the tables of the state folder,
    the logs and ``localyun.yaml``.

    Raises: OSError, also when *target* exists.
    """
    parts = {f"{name}.json": json.dumps(content, indent=2, ensure_ascii=False) for name, content in documents.items()}
    parts["versions.json"] = json.dumps(versions(), indent=2)
    parts["state.txt"] = "\n".join(_listing(config.state)) + "\n"
    parts["tables.json"] = json.dumps(_tables(config.state / "state.db"), indent=2)
    parts.update(_logs(config.state))
    with suppress(OSError, UnicodeDecodeError):
        parts[FILE_NAME] = Path(FILE_NAME).read_text(encoding="utf-8-sig")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, secrets.masked(text))
    return sorted(parts)


def versions() -> dict[str, Any]:
    """Return what runs here: localyun, Python, the system, SQLite and every installed distribution."""
    return {
        "localyun": __version__,
        "python": sys.version,
        "implementation": platform.python_implementation(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
        "distributions": dict(sorted((each.name, each.version) for each in metadata.distributions())),
    }


def _logs(state: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((state / "logs").rglob("*")):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink():
                yield f"logs/{path.relative_to(state / 'logs').as_posix()}", _end_of(path)


def _end_of(path: Path) -> str:
    """Return the last lines of a log, whole lines only."""
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(max(0, size - LOG_BYTES))
        if size > LOG_BYTES:
            log.readline()
        return log.read(LOG_BYTES).decode("utf-8", "replace")


def _listing(state: Path) -> Iterator[str]:
    """Yield mode, size and name of what is in the state folder; names of code and objects are left out."""
    paths = [state, *(path for path in sorted(state.glob("*")))] if state.is_dir() else []
    for path in [*paths, *sorted(state.glob("ca/*")), *sorted(state.glob("logs/*"))][:_MOST_ENTRIES]:
        with suppress(OSError):
            status = path.lstat()
            yield f"{stat.filemode(status.st_mode)} {status.st_size:>12} {path.relative_to(state.parent)}"


def _tables(path: Path) -> dict[str, Any]:
    """Return the schema versions and how many rows each table has; what of it can be read."""
    found: dict[str, Any] = {}
    if not path.is_file():
        return found
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names: Sequence[tuple[str]] = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            found["schema"] = dict(database.execute("SELECT service, version FROM schema_versions").fetchall())
            found["rows"] = {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - its own name
                for (name,) in names
            }
    except sqlite3.Error as error:
        found["problem"] = str(error)
    return found
