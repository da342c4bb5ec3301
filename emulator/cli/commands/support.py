"""``support``: an archive of logs, settings, versions and findings, without secrets, for a bug report.

Known secrets are collected (from the key file, the database, the running emulator's record, the environment) and
removed, and so is everything that looks like one, such as a secret of an earlier state folder in an old log.
"""

import json
import os
import platform
import re
import sqlite3
import stat
import sys
import zipfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from emulator import __version__
from emulator.cli.commands.doctor import answering, examine
from emulator.cli.commands.server import shown_settings
from emulator.cli.output import DONE, CommandFailed, _, note, reason_of, say, say_json, wants_json
from emulator.config import FILE_NAME, OPTIONS, Config, Settings
from emulator.kernel.clock import SystemClock
from emulator.wire.dates import iso_seconds

MASK = "********"

COLUMNS = {
    "ram_access_keys": ("key_id", "secret"),
    "ram_accounts": ("key_id", "secret"),
    "sts_keys": ("key_id", "secret", "token"),
    "workflow_secret": ("secret",),
    "workflow_executions": ("callback_token",),
}
"""Columns of the database that contain secrets."""

DOCUMENTS = {"fc_functions": ("config", "base"), "fc_versions": ("config", "content"), "fc_triggers": ("config",),
             "fc_services": ("config", "base"), "fc_domains": ("config",),
             "workflow_flows": ("environment",)}  # fmt: skip
"""Columns with JSON in which the values of names matching `_TELLING`, and all variables, are secrets."""

_TELLING = re.compile(
    r"secret|token|password|passwd|privatekey|private_key|accesskey|access_key|credential|api_?key", re.I
)
_VARIABLES = re.compile(r"environment(?:_?variables)?|variables", re.IGNORECASE)
_SHORTEST = 6
"""Shorter values are not secrets, and removing them would make texts unreadable."""

_SHAPES = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:LTAI|LYUN|STS\.)[0-9A-Za-z]{8,}"),
    re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"),
    re.compile(r"(?i)(?<=authorization: )\S.*"),
    re.compile(
        r"""(?i)(?<![a-z])(?:[a-z_.-]*(?:secret|password|token|passwd)[a-z_]*)["']?\s*[:=]\s*["']?([^\s"',;&]{6,})"""
    ),
    re.compile(r"\b[0-9a-f]{40,}\b"),
)
"""Patterns of secrets: private keys, key ids, user names in addresses, signatures, assignments, generated secrets."""


def run(arguments: Namespace, settings: Settings) -> int:
    """Pack logs, settings, versions and findings without secrets, and name the archive.

    Raises: CommandFailed when it cannot be written.
    """
    config = settings.config
    moment = iso_seconds(SystemClock().now()).replace(":", "").replace("-", "")
    target = Path(arguments.output or f"localyun-support-{moment}.zip")
    client = answering(settings)
    documents = {
        "doctor": [each.shown() for each in examine(settings)],
        "settings": {name: {"value": value, "source": source} for name, value, source in shown_settings(settings)},
        "status": client.admin("GET", "status") if client else None,
    }
    try:
        names = write(target, config, collect(config), documents)
    except OSError as error:
        raise CommandFailed(_("{path} cannot be written: {problem}", path=target, problem=reason_of(error))) from error
    if wants_json(arguments):
        say_json({"file": str(target.absolute()), "content": names})
    else:
        say(str(target))
        note(_("Keys, tokens, secrets and variables of functions are masked."))
        note(_("Logs contain the output of your functions: review the archive before you share it."))
    return DONE


class Secrets:
    """The secrets of one state folder."""

    def __init__(self, values: Iterable[str]) -> None:
        secrets = sorted({value for value in values if len(value) >= _SHORTEST}, key=lambda value: (-len(value), value))
        self.values = tuple(secrets)

    def masked(self, text: str) -> str:
        """Return *text* without secrets, also where they are escaped as in JSON or URLs."""
        for value in self.values:
            if value in text:
                text = text.replace(value, MASK)
            escaped = json.dumps(value)[1:-1]
            if escaped != value:
                text = text.replace(escaped, MASK)
        for shape in _SHAPES:
            text = shape.sub(_mask, text)
        return text


def _mask(match: re.Match[str]) -> str:
    if not match.re.groups:
        return MASK
    begin, end = (place - match.start() for place in match.span(1))
    return match[0][:begin] + MASK + match[0][end:]


def collect(config: Config, environ: Mapping[str, str] = os.environ) -> Secrets:
    """Find the secrets of the state folder of *config* and of this shell."""
    shell = (value for name, value in environ.items() if _TELLING.search(name))
    values = [*_of_files(config.state), *_of_database(config.state / "state.db"), *shell]
    given = [config.access_key_id, *(getattr(config, option.name) for option in OPTIONS if option.secret)]
    return Secrets([*values, *(str(value) for value in given if value)])


def _of_files(state: Path) -> Iterator[str]:
    for name, plain in (("keys.json", {"accountId", "region"}), ("endpoint.json", {"http", "https"})):
        with suppress(OSError, ValueError):
            content = json.loads((state / name).read_text(encoding="utf-8"))
            yield from (value for key, value in _texts(content) if key not in plain | {"account_id"})
    for path in state.glob("ca/**/*.pem"):
        with suppress(OSError, UnicodeDecodeError):
            for match in _SHAPES[0].finditer(path.read_text(encoding="ascii")):
                yield from match[0].splitlines()[1:-1]


def _of_database(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    with suppress(sqlite3.Error), _opened(path) as database:
        for table, columns in {**COLUMNS, **DOCUMENTS}.items():
            for column in columns:
                with suppress(sqlite3.Error):  # a file of an earlier version has no such table
                    rows = database.execute(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608 - names from above
                    for (value,) in rows:
                        yield from _of_cell(value, is_document=table in DOCUMENTS)


def _opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True))


def _of_cell(value: Any, *, is_document: bool) -> Iterator[str]:
    if isinstance(value, bytes):
        yield value.hex()
    elif isinstance(value, str) and not is_document:
        yield value
    elif isinstance(value, str):
        with suppress(ValueError):
            yield from _telling(json.loads(value), all_of_it=False)


def _telling(content: Any, *, all_of_it: bool) -> Iterator[str]:
    """Yield the texts of names matching `_TELLING`, and all below variables."""
    if isinstance(content, str):
        if all_of_it:
            yield content
        elif content[:1] in "{[":  # a document inside the document
            with suppress(ValueError):
                yield from _telling(json.loads(content), all_of_it=False)
    elif isinstance(content, list):
        for item in content:
            yield from _telling(item, all_of_it=all_of_it)
    elif isinstance(content, dict):
        for key, item in content.items():
            below = all_of_it or bool(_TELLING.search(key) or _VARIABLES.fullmatch(key))
            yield from _telling(item, all_of_it=below)


def _texts(content: Any) -> Iterator[tuple[str, str]]:
    """Yield each text of a document with the name of its member."""
    if isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, str):
                yield str(key), value
            else:
                yield from _texts(value)


LOG_BYTES = 2 * 1024 * 1024
"""Bytes packed from the end of each log."""

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
    """Return the versions of localyun, Python, the system, SQLite and every installed distribution."""
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
    """Yield mode, size and name of the files in the state folder, without those of code and objects."""
    paths = [state, *(path for path in sorted(state.glob("*")))] if state.is_dir() else []
    for path in [*paths, *sorted(state.glob("ca/*")), *sorted(state.glob("logs/*"))][:_MOST_ENTRIES]:
        with suppress(OSError):
            status = path.lstat()
            yield f"{stat.filemode(status.st_mode)} {status.st_size:>12} {path.relative_to(state.parent)}"


def _tables(path: Path) -> dict[str, Any]:
    """Return the schema versions and the number of rows of each table, as far as they can be read."""
    tables: dict[str, Any] = {}
    if not path.is_file():
        return tables
    try:
        with _opened(path) as database:
            names: Sequence[tuple[str]] = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            tables["schema"] = dict(database.execute("SELECT service, version FROM schema_versions").fetchall())
            tables["rows"] = {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - its own name
                for (name,) in names
            }
    except sqlite3.Error as error:
        tables["problem"] = str(error)
    return tables
