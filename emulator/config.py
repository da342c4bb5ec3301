"""Settings of an emulator: one frozen `Config`, merged from four places and checked once.

Flags win over environment variables, those over ``localyun.yaml`` in the working directory, and that over the
defaults. `OPTIONS` is the one table behind all of them: an option ``https_port`` is the flag ``--https-port``, the
variable ``LOCALYUN_HTTPS_PORT`` and the key ``https_port``. Every value remembers where it came from, so that an error
and ``localyun config`` can say so. A ``read_`` function turns a text, or a value of the file, into the field's value;
it gets the folder that relative paths start from and raises ValueError with what was expected.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from emulator.kernel.frozen import field, frozen

FILE_NAME = "localyun.yaml"
DEFAULT_REGION = "cn-hangzhou"
DEFAULT_PORT = 8868
DEFAULT_KEPT_DAYS = 30
DEFAULT_HTTPS_PORT = 8869
AUTO_PORT = -1
"""The text ``auto`` for a port: ``start`` takes the usual one, or the next that is free."""

_MOST_DAYS = 36_500

Marks = Mapping[tuple[str, ...], tuple[int, int]]
"""Line and column, from 1, of each part of the file by its path."""

RESOURCE_KEYS = ("queues", "topics", "flows", "schedules", "buckets", "roles", "deploy", "hooks", "faults")
"""Keys of ``localyun.yaml`` that describe resources, or lead to them; kept as written in `Config.resources`."""


class Resources(dict[str, Any]):
    """What the file has under `RESOURCE_KEYS`, as written; its relative paths start from ``folder``."""

    folder = Path()


class ConfigError(Exception):
    """A setting that cannot be used; the message starts with its source (flag, variable or file and line)."""


@frozen
class Config:
    """The settings of one emulator.

    ``host`` None means the loopback addresses 127.0.0.1 and ::1. A port of 0 means any free one, `AUTO_PORT` the
    next free one after the default, which the command chooses. The folder ``functions`` need not exist yet; None
    serves none. ``access_key_id``, ``access_key_secret``, ``account_id`` and ``region`` are None when they are not
    given; `emulator.keyfile` then takes what the state folder holds. ``allowed_hosts`` are names, such as that of a
    container, under which clients may call beside loopback and the cloud's own. ``allow_push_to`` are hosts beyond
    loopback that topics may push to, as `PushPolicy` of the message service reads them; ``push_retry_scale`` is
    what the gaps between their retries are multiplied by. ``keep_executions`` is in days after the end, 0 for ever.
    ``runtimes`` maps the name of a function runtime (``python3.10``) to an executable. ``resources`` holds the keys
    of `RESOURCE_KEYS` as written, ``resource_marks`` the place of each part of them by its path: ``("queues",
    "orders")``.
    """

    host: tuple[str, ...] | None = None
    port: int = DEFAULT_PORT
    https_port: int = DEFAULT_HTTPS_PORT
    state: Path = Path(".localyun")
    ephemeral: bool = False
    functions: Path | None = None
    auth: Literal["verify", "lenient"] = "verify"
    durability: Literal["normal", "full"] = "normal"
    enforce_ram: bool = False
    isolate: bool = False
    console: bool = True
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning"] = "info"
    log_file: Path | None = None
    keep_executions: int = DEFAULT_KEPT_DAYS
    access_key_id: str | None = None
    access_key_secret: str | None = None
    account_id: str | None = None
    region: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allow_push_to: tuple[str, ...] = ()
    push_retry_scale: float = 1.0
    runtimes: Mapping[str, Path] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    resource_marks: Marks = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the emulator."""
        return all(_is_loopback(host) for host in self.host or ())


@frozen(kw_only=False)
class Option:
    """One setting: how it is read and what it is for.

    ``choices`` is for help texts. ``secret`` values are never printed. Options without ``has_flag`` cannot be given on
    the command line.
    """

    name: str
    read: Callable[[Any, Path], Any]
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_switch: bool = False
    has_flag: bool = True
    secret: bool = False

    @property
    def flag(self) -> str:
        """The option on the command line, ``--https-port``."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The option in the environment, ``LOCALYUN_HTTPS_PORT``."""
        return "LOCALYUN_" + self.name.upper()


@frozen
class Settings:
    """A `Config` and where each of its values came from.

    ``origins`` maps every option's name to ``default``, a flag, a variable or ``localyun.yaml:LINE``.
    """

    config: Config
    origins: Mapping[str, str]


@frozen(kw_only=False)
class _Raw:
    """A raw value, where it came from, and the folder its relative paths start from."""

    value: Any
    origin: str
    folder: Path
    column: int | None = None

    def refused(self, problem: str) -> ConfigError:
        """Return the error that says where the value came from; a file's column is behind the problem."""
        return ConfigError(f"{self.origin}: {problem}" + (f" (column {self.column})" if self.column else ""))


def load(flags: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Settings:
    """Merge *flags* (by option name, None when not given), *environ* and ``localyun.yaml`` in *folder*.

    An empty environment variable counts as not set. Relative paths start from *folder*.

    Raises: ConfigError.
    """
    raw, resources, marks = _read_file(folder)
    for option in OPTIONS:
        if environ.get(option.variable):
            raw[option.name] = _Raw(environ[option.variable], option.variable, folder)
        if flags.get(option.name) is not None:
            raw[option.name] = _Raw(flags[option.name], option.flag, folder)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name in raw:
            values[option.name] = _value_of(option, raw[option.name])
    values.setdefault("functions", folder / "functions")
    values.setdefault("state", folder / ".localyun")
    if values.get("port", DEFAULT_PORT) != DEFAULT_PORT:
        values.setdefault("https_port", AUTO_PORT)  # nobody chose it: a second emulator must not stumble over the first
    origins = {option.name: raw[option.name].origin if option.name in raw else "default" for option in OPTIONS}
    config = Config(**values, resources=resources, resource_marks=marks)
    _check_together(config, raw)
    return Settings(config=config, origins=origins)


def load_here(flags: Mapping[str, Any]) -> Settings:
    """Merge *flags* with what `load` finds in this process's environment and working directory.

    Raises: ConfigError.
    """
    return load(flags, os.environ, Path.cwd())


def _value_of(option: Option, raw: _Raw) -> Any:
    try:
        return option.read(raw.value, raw.folder)
    except ValueError as error:
        shown = "" if option.secret else f", not {raw.value!r}"
        raise raw.refused(f"{option.name} must be {error}{shown}") from None


def _check_together(config: Config, raw: Mapping[str, _Raw]) -> None:
    """Check what concerns more than one value."""
    if config.access_key_id is not None and config.access_key_id.upper().startswith("LTAI"):
        raise raw["access_key_id"].refused(
            f"{config.access_key_id[:6]}... looks like a real cloud access key (they start with LTAI). The emulator "
            "does not take it, so that it cannot leak from here; leave it out and a key is generated, or choose any "
            "other text."
        )
    for one, other in (("access_key_id", "access_key_secret"), ("access_key_secret", "access_key_id")):
        if one in raw and other not in raw:
            raise raw[one].refused(f"{one} needs {other} with it")
    if config.port > 0 and config.port == config.https_port:
        port = raw.get("https_port") or raw["port"]
        raise port.refused(f"http and https cannot share port {config.port}")
    if config.isolate and Path.home() == Path("/"):
        raise raw["isolate"].refused("isolate needs a home folder, and HOME is /")
    wide = [host for host in config.host or () if not _is_loopback(host)]
    if wide and config.auth == "lenient":
        raise raw["auth"].refused(
            f"auth lenient works on loopback addresses only, and {raw['host'].origin} opens {wide[0]}; "
            "with verify, callers from outside need the keys"
        )


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _read_file(folder: Path) -> tuple[dict[str, _Raw], Resources, Marks]:
    """Return the options, the resources and the places of all parts of the file in *folder*; empty without a file."""
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}, Resources(), {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{FILE_NAME}: cannot be read: {error}") from error
    from emulator.wire.yaml import RepeatedKey, UnreadableYaml, read_document  # most installations have no file

    try:
        content, marks = read_document(text)
    except RepeatedKey as error:
        raise ConfigError(placed((error.line, error.column), f"{error.field} is given twice")) from error
    except UnreadableYaml as error:
        raise ConfigError(placed((error.line, error.column), f"not valid YAML: {error.problem}")) from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(placed(marks[()], "the file must be a mapping of settings"))
    raw: dict[str, _Raw] = {}
    resources = Resources()
    resources.folder = folder
    options = {option.name for option in OPTIONS}
    for key, value in (content or {}).items():
        mark = marks[key,]
        if key in RESOURCE_KEYS:
            resources[key] = value
        elif key not in options:
            raise ConfigError(placed(mark, f"there is no setting {key!r}{_suggestion(key)}"))
        elif value is not None:
            raw[key] = _Raw(value, f"{FILE_NAME}:{mark.line}", folder, mark.column)
    return raw, resources, marks


def placed(mark: tuple[int, int], problem: str) -> str:
    """Return a problem of ``localyun.yaml`` with its place."""
    return f"{FILE_NAME}:{mark[0]}: {problem} (column {mark[1]})"


def _suggestion(key: str) -> str:
    import difflib  # only for an error message

    near = difflib.get_close_matches(key.lower().replace("-", "_"), [option.name for option in OPTIONS], n=1)
    return f"; did you mean {near[0]}?" if near else ""


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
    lowest, highest = 0.001, 10
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


def _choice(name: str, help_text: str, *choices: str) -> Option:
    return Option(name, one_of(*choices), help_text, choices=choices)


OPTIONS: tuple[Option, ...] = (
    Option("host", read_hosts, "addresses to listen on (default: 127.0.0.1,::1)", "ADDRESS"),
    Option("port", read_port, f"HTTP port, 0 for any, auto for the next free one (default: {DEFAULT_PORT})", "PORT"),
    Option(
        "https_port",
        read_port,
        f"HTTPS port, 0 for any, auto for the next free one (default: {DEFAULT_HTTPS_PORT})",
        "PORT",
    ),
    Option("state", read_path, "folder for everything that is kept (default: .localyun)", "DIR"),
    Option("ephemeral", read_switch, "keep no resources when the emulator stops", is_switch=True),
    Option("functions", read_folder, "folder of functions to serve, also one made later (default: functions)", "DIR"),
    _choice("auth", "check signatures, or accept any key (default: verify)", "verify", "lenient"),
    _choice("durability", "full also survives a power cut (default: normal)", "normal", "full"),
    Option("enforce_ram", read_switch, "check what users and roles may do (default: no)", is_switch=True),
    Option("isolate", read_switch, "functions can change nothing in your home folder (default: no)", is_switch=True),
    Option("console", read_switch, "serve pages for a browser (default: yes)", is_switch=True),
    _choice("log_format", "one line per event as text or JSON (default: text)", "text", "json"),
    _choice("log_level", "how much the server logs (default: info)", "debug", "info", "warning"),
    Option("log_file", read_path, "file for the log instead of standard error", "FILE"),
    Option(
        "keep_executions",
        read_days,
        f"how long executions are kept after their end, 0 for ever (default: {DEFAULT_KEPT_DAYS})",
        "DAYS",
    ),
    Option("access_key_id", read_key_id, "key id instead of the generated one", has_flag=False),
    Option(
        "access_key_secret", read_key_secret, "secret that belongs to the given key id", has_flag=False, secret=True
    ),
    Option("account_id", read_account, "account id instead of the generated one", has_flag=False),
    Option("region", read_region, f"region the emulator is (default: {DEFAULT_REGION})", has_flag=False),
    Option(
        "allowed_hosts",
        read_hosts,
        "further host names clients may call this emulator by, separated by commas",
        "NAMES",
    ),
    Option(
        "allow_push_to",
        read_hosts,
        "addresses, networks and names beyond loopback that topics may push to, separated by commas; * for all",
        "HOSTS",
    ),
    Option(
        "push_retry_scale",
        read_scale,
        "what the gaps between retries of a failed push are multiplied by, such as 0.01 for tests (default: 1)",
        "FACTOR",
    ),
    Option(
        "runtimes",
        read_runtimes,
        "executables for function runtimes, by name (default: the emulator's own Python)",
        has_flag=False,
    ),
)
