"""Settings of an emulator: one frozen `Config`, merged from four places and checked once.

Flags win over environment variables, those over ``localyun.yaml`` in the working directory, and that over the
defaults. `OPTIONS` is the one table behind all of them: an option ``https_port`` is the flag ``--https-port``, the
variable ``LOCALYUN_HTTPS_PORT`` and the key ``https_port``. Every value remembers where it came from, so that an error
and ``localyun config`` can say so.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from emulator.kernel import system
from emulator.kernel.bounds import STATE
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import field, frozen
from emulator.kernel.identity import ACCOUNT_DIGITS
from emulator.kernel.phrases import Phrase, phrase
from emulator.wire.schema.kinds import (
    FLAG,
    TEXT,
    TIME,
    Duration,
    Field,
    Folder,
    Items,
    Kind,
    MapOf,
    Number,
    OneOf,
    Shape,
    Text,
    Whole,
)
from emulator.wire.schema.settings import SETTINGS

FILE_NAME = "localyun.yaml"
DEFAULT_REGION = "cn-hangzhou"
DEFAULT_PORT = 8868
DEFAULT_KEPT_DAYS = 30
DEFAULT_HTTPS_PORT = 8869
AUTO_PORT = -1
"""Stands for ``auto``: ``start`` takes the usual port, or the next one that is free."""

_MOST_DAYS = 36_500
_MOST_SEED = 2**53

Marks = Mapping[tuple[str, ...], tuple[int, int]]
"""Line and column, from 1, of each part of the file by its path."""

RESOURCE_KEYS = ("queues", "topics", "flows", "schedules", "buckets", "roles", "deploy", "hooks", "faults")
"""Keys of ``localyun.yaml`` for resources, deployments, commands and faults; kept in `Config.resources` as written."""


class Resources(dict[str, Any]):
    """The values under `RESOURCE_KEYS` in the file, as written; relative paths start from ``folder``."""

    folder = Path()


class ConfigError(Exception):
    """A setting that cannot be used; the message starts with its source (flag, variable or file and line)."""


@frozen
class Config:
    """The settings of one emulator.

    ``host`` None means the loopback addresses 127.0.0.1 and ::1. A port of 0 means any free one, `AUTO_PORT` the next
    free one after the default, which the command chooses. The folder ``functions`` need not exist yet; None serves
    none. ``access_key_id``, ``access_key_secret``, ``account_id`` and ``region`` are None when they are not given;
    `emulator.keyfile` then takes what the state folder holds. ``allowed_hosts`` are names, such as that of a container,
    under which clients may call beside loopback and the cloud's own. ``allow_push_to`` are hosts beyond loopback that
    topics may push to, as `PushPolicy` of the message service reads them; ``push_retry_scale`` is the factor for the
    gaps between their retries. All random draws except secrets follow from ``seed``; ``start_at`` is the emulator's
    time unless the state's clock was moved, ``freeze`` makes it stand still. ``keep_executions`` is in days after the
    end, 0 for ever. ``runtimes`` maps the name of a function runtime (``python3.10``) to an executable. ``resources``
    holds the keys of `RESOURCE_KEYS` as written, ``resource_marks`` the place of each part of them by its path:
    ``("queues", "orders")``.
    """

    host: tuple[str, ...] | None = None
    port: int = DEFAULT_PORT
    https_port: int = DEFAULT_HTTPS_PORT
    state: Path = Path(STATE)
    ephemeral: bool = False
    functions: Path | None = None
    auth: Literal["verify", "lenient"] = "verify"
    durability: Literal["normal", "full"] = "normal"
    enforce_ram: bool = False
    strict: bool = False
    isolate: bool = False
    console: bool = True
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning"] = "info"
    log_file: Path | None = None
    keep_executions: int = DEFAULT_KEPT_DAYS
    seed: int | None = None
    start_at: Millis | None = None
    freeze: bool = False
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


def flag_of(option: Field) -> str:
    """Return the option's flag on the command line, ``--https-port``."""
    return "--" + option.name.replace("_", "-")


def variable_of(option: Field) -> str:
    """Return the option's environment variable, ``LOCALYUN_HTTPS_PORT``."""
    return "LOCALYUN_" + option.name.upper()


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
        """Return the error for the value, with its source; in a file, with the column too."""
        origin = f"{self.origin}:{self.column}" if self.column else self.origin
        return ConfigError(Phrase("{origin}: {problem}", origin=origin, problem=problem))


def load(flags: Mapping[str, Any], environ: Mapping[str, str], folder: Path, *, ignores_file: bool = False) -> Settings:
    """Merge *flags* (by option name, None when not given), *environ* and ``localyun.yaml`` in *folder*.

    An empty environment variable counts as not set. Relative paths start from *folder*.

    Raises: ConfigError; with all problems of the file, also of values that a flag or variable hides.
    """
    raw, resources, marks = ({}, Resources(), {}) if ignores_file else _read_file(folder)
    for option in OPTIONS:
        if environ.get(variable_of(option)):
            raw[option.name] = _Raw(environ[variable_of(option)], variable_of(option), folder)
        if flags.get(option.name) is not None:
            raw[option.name] = _Raw(flags[option.name], flag_of(option), folder)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name in raw:
            values[option.name] = _value_of(option, raw[option.name])
    values.setdefault("functions", folder / "functions")
    values.setdefault("state", folder / STATE)
    if values.get("port", DEFAULT_PORT) != DEFAULT_PORT:
        values.setdefault("https_port", AUTO_PORT)  # not configured: two emulators must not collide
    origins = {option.name: raw[option.name].origin if option.name in raw else "default" for option in OPTIONS}
    config = Config(**values, resources=resources, resource_marks=marks)
    _check_together(config, raw)
    return Settings(config=config, origins=origins)


def load_here(flags: Mapping[str, Any], *, ignores_file: bool = False) -> Settings:
    """Merge *flags* with what `load` finds in this process's environment and working directory.

    Raises: ConfigError.
    """
    return load(flags, os.environ, Path.cwd(), ignores_file=ignores_file)


def _value_of(option: Field, raw: _Raw) -> Any:
    try:
        return SETTINGS.reader(option.kind)(raw.value, raw.folder)
    except ValueError as error:
        must = {"name": option.name, "what": phrase(str(error))}
        if option.secret:
            raise raw.refused(Phrase("{name} must be {what}", **must)) from None
        raise raw.refused(Phrase("{name} must be {what}, not {value!r}", value=raw.value, **must)) from None


def _check_together(config: Config, raw: Mapping[str, _Raw]) -> None:
    """Check conditions that concern more than one setting."""
    if config.access_key_id is not None and config.access_key_id.upper().startswith("LTAI"):
        text = (
            "{begin}... looks like a real cloud access key (they start with LTAI). The emulator does not take it, so "
            "that it cannot leak from here; leave it out and a key is generated, or choose any other text."
        )
        raise raw["access_key_id"].refused(Phrase(text, begin=config.access_key_id[:6]))
    for one, other in (("access_key_id", "access_key_secret"), ("access_key_secret", "access_key_id")):
        if one in raw and other not in raw:
            raise raw[one].refused(Phrase("{one} needs {other} with it", one=one, other=other))
    if config.port > 0 and config.port == config.https_port:
        port = raw.get("https_port") or raw["port"]
        raise port.refused(Phrase("http and https cannot share port {port}", port=config.port))
    if config.isolate and system.home() == Path("/"):
        raise raw["isolate"].refused("isolate needs a home folder, and HOME is /")
    wide = [host for host in config.host or () if not _is_loopback(host)]
    if wide and config.auth == "lenient":
        text = (
            "auth lenient works on loopback addresses only, and {origin} opens {host}; "
            "with verify, callers from outside need the keys"
        )
        raise raw["auth"].refused(Phrase(text, origin=raw["host"].origin, host=wide[0]))


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _read_file(folder: Path) -> tuple[dict[str, _Raw], Resources, Marks]:
    """Return options, resources and places of all parts of the file in *folder*; all empty without a file."""
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}, Resources(), {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(Phrase("{origin}: cannot be read: {reason}", origin=FILE_NAME, reason=error)) from error
    from emulator.wire.yaml import RepeatedKey, UnreadableYaml, read_document  # few installations have a file

    try:
        content, marks = read_document(text)
    except UnreadableYaml as error:
        problem = Phrase("not valid YAML: {reason}", reason=phrase(error.problem))
        if isinstance(error, RepeatedKey):
            problem = Phrase("{name} is given twice", name=error.field)
        raise ConfigError(placed((error.line, error.column), problem)) from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(placed(marks[()], "the file must have settings, each followed by ': ' and a value"))
    raw: dict[str, _Raw] = {}
    resources = Resources()
    resources.folder = folder
    options = {option.name: option for option in OPTIONS}
    wrong: list[str] = []
    for key, value in (content or {}).items():
        mark = marks[key,]
        if key in RESOURCE_KEYS:
            resources[key] = value
        elif key not in options:
            wrong.append(placed(mark, _no_setting(key)))
        elif value is not None:
            raw[key] = _Raw(value, f"{FILE_NAME}:{mark.line}", folder, mark.column)
            wrong += _mistakes(options[key], raw[key], text.splitlines()[mark.line - 1], mark)
    if wrong:
        raise all_of(wrong)
    return raw, resources, marks


def _mistakes(option: Field, raw: _Raw, line: str, mark: tuple[int, int]) -> Iterator[str]:
    """Yield the problems of a value in the file."""
    try:
        _value_of(option, raw)
    except ConfigError as error:
        yield error.args[0]
    if isinstance(raw.value, int) and re.search(rf"\b{option.name}\W+0\d", line):
        yield placed(mark, Phrase("{name}: a number that begins with 0 needs quotes", name=option.name))


def all_of(problems: Sequence[str]) -> ConfigError:
    """Return one error with several problems, a line each."""
    lines = {f"line{number}": each for number, each in enumerate(problems)}
    return ConfigError(Phrase("\n".join(f"{{{name}}}" for name in lines), **lines))


def placed(mark: tuple[int, int], problem: str) -> str:
    """Return a problem of ``localyun.yaml`` with its line and column."""
    return Phrase("{origin}: {problem}", origin=f"{FILE_NAME}:{mark[0]}:{mark[1]}", problem=problem)


def _no_setting(key: str) -> Phrase:
    import difflib  # only for an error message

    known = [*(option.name for option in OPTIONS), *RESOURCE_KEYS]
    near = difflib.get_close_matches(key.lower().replace("-", "_"), known, n=1)
    if near:
        return Phrase("there is no setting {name!r}; did you mean {near}?", name=key, near=near[0])
    return Phrase("there is no setting {name!r}", name=key)


HOSTS = Items(TEXT, least=1)
"""Addresses or names: a list, or a text with commas between them."""

_PORT = Whole(0, 65535, words={"auto": AUTO_PORT}, expected=Phrase("a whole number from 0 to 65535, or auto"))
_DAYS = Duration(
    0, _MOST_DAYS, "days", expected=Phrase("a whole number of days up to {most}, 0 for no limit", most=_MOST_DAYS)
)
_KEY_ID = Text(form="[A-Za-z0-9._-]{1,128}", expected=Phrase("1 to 128 letters, digits, dots, hyphens and underscores"))
_KEY_SECRET = Text(form="[ -~]{1,128}", expected=Phrase("1 to 128 printable ASCII characters"))
_ACCOUNT = Text(
    form=f"[0-9]{{1,{ACCOUNT_DIGITS}}}", expected=Phrase("1 to {most} digits", most=ACCOUNT_DIGITS), digits=True
)
_REGION = Text(form="[a-z][a-z0-9-]{0,63}", expected=Phrase("the id of a region such as cn-hangzhou"))

FLAGS = "option"
"""The form of fields that can be given on the command line."""


def _option(
    name: str, kind: Kind, about: str, chinese: str, value: str = "", *, has_flag: bool = True, secret: bool = False
) -> Field:
    """Return a setting; *value* is the placeholder of its value in help."""
    only = ("file", "environment", *((FLAGS,) if has_flag else ()))
    names = {"value": (value,)} if value else {}
    return Field(name, name, kind, names=names, only=only, help=(about, chinese), secret=secret)


OPTIONS = Shape(
    "Config",
    (
        _option(
            "host", HOSTS,
            "addresses to listen on (default: 127.0.0.1,::1)",
            "监听地址（默认：127.0.0.1,::1）", "ADDRESS",
        ),
        _option(
            "port", _PORT,
            f"HTTP port, 0 for any, auto for the next free one (default: {DEFAULT_PORT})",
            f"HTTP 端口，0 为任意空闲端口，auto 为下一个空闲端口（默认：{DEFAULT_PORT}）", "PORT",
        ),
        _option(
            "https_port", _PORT,
            f"HTTPS port, 0 for any, auto for the next free one (default: {DEFAULT_HTTPS_PORT})",
            f"HTTPS 端口，0 为任意空闲端口，auto 为下一个空闲端口（默认：{DEFAULT_HTTPS_PORT}）", "PORT",
        ),
        _option(
            "state", Folder(),
            "folder for all state (default: .localyun)",
            "保存全部状态的目录（默认：.localyun）", "DIR",
        ),
        _option(
            "ephemeral", FLAG,
            "keep no resources when the emulator stops",
            "模拟器停止后不保留资源",
        ),
        _option(
            "functions", Folder(existing=True),
            "folder of functions to serve; it may be created later (default: functions)",
            "函数目录，其中的函数会自动加载；可以在启动之后创建（默认：functions）", "DIR",
        ),
        _option(
            "auth", OneOf(("verify", "lenient")),
            "check signatures, or accept any key (default: verify)",
            "校验签名，或接受任何密钥（默认：verify）",
        ),
        _option(
            "durability", OneOf(("normal", "full")),
            "full also survives a power cut (default: normal)",
            "full 在断电后也不丢数据（默认：normal）",
        ),
        _option(
            "enforce_ram", FLAG,
            "check what users and roles may do (default: no)",
            "检查用户和角色的权限（默认：否）",
        ),
        _option(
            "strict", FLAG,
            "refuse networks, log stores, long names of queues and topics, and priority 0 (default: no)",
            "拒绝网络、日志库、过长的队列和主题名称以及优先级 0（默认：否）",
        ),
        _option(
            "isolate", FLAG,
            "prevent functions from changing your home folder (default: no)",
            "禁止函数改动您的主目录（默认：否）",
        ),
        _option(
            "console", FLAG,
            "serve the console, the pages for a browser (default: yes)",
            "提供控制台，即浏览器页面（默认：是）",
        ),
        _option(
            "log_format", OneOf(("text", "json")),
            "one line per event as text or JSON (default: text)",
            "每个事件一行，文本或 JSON（默认：text）",
        ),
        _option(
            "log_level", OneOf(("debug", "info", "warning")),
            "how much the server logs (default: info)",
            "服务器日志级别（默认：info）",
        ),
        _option(
            "log_file", Folder(),
            "file for the log instead of standard error",
            "日志文件，代替标准错误", "FILE",
        ),
        _option(
            "keep_executions", _DAYS,
            f"days to keep executions after their end, 0 for no limit (default: {DEFAULT_KEPT_DAYS})",
            f"执行结束后保留的天数，0 为永久（默认：{DEFAULT_KEPT_DAYS}）", "DAYS",
        ),
        _option(
            "access_key_id", _KEY_ID,
            "key id instead of the generated one",
            "代替生成的密钥 ID", has_flag=False,
        ),
        _option(
            "access_key_secret", _KEY_SECRET,
            "secret that belongs to the given key id",
            "与所给密钥 ID 对应的密钥", has_flag=False, secret=True,
        ),
        _option(
            "account_id", _ACCOUNT,
            "account id instead of the generated one",
            "代替生成的账号 ID", has_flag=False,
        ),
        _option(
            "region", _REGION,
            f"region of the emulator (default: {DEFAULT_REGION})",
            f"模拟器所在的地域（默认：{DEFAULT_REGION}）", has_flag=False,
        ),
        _option(
            "allowed_hosts", HOSTS,
            "additional host names for calls to this emulator, separated by commas",
            "客户端可用来访问模拟器的其他主机名，以逗号分隔", "NAMES",
        ),
        _option(
            "allow_push_to", HOSTS,
            "addresses, networks and names beyond loopback that topics may push to, separated by commas; * for all",
            "除回环地址外主题可以推送到的地址、网段和主机名，以逗号分隔；* 为全部", "HOSTS",
        ),
        _option(
            "push_retry_scale", Number(0.001, 10),
            "factor for the delays between retries of a failed push, such as 0.01 in tests (default: 1)",
            "推送失败后重试间隔的倍数，例如测试时用 0.01（默认：1）", "FACTOR",
        ),
        _option(
            "seed", Whole(0, _MOST_SEED),
            "random seed for ids and all other random values (default: random)",
            "ID 和其他随机值的种子（默认：随机）", "N",
        ),
        _option(
            "start_at", TIME,
            "the emulator's time at a start, unless its clock has been moved before (default: now)",
            "启动时模拟器的时间，时钟移动过时不起作用（默认：当前时间）", "TIME",
        ),
        _option(
            "freeze", FLAG,
            "freeze the emulator's clock from the start; a clock that was frozen before stays frozen (default: no)",
            "启动时就冻结模拟器的时钟；此前已冻结的时钟保持冻结（默认：否）",
        ),
        _option(
            "runtimes", MapOf(Folder(program=True)),
            "executables for function runtimes, by name (default: the emulator's own Python)",
            "按名称指定函数运行时的可执行文件（默认：模拟器自己的 Python）", has_flag=False,
        ),
    ),
    Config,
)  # fmt: skip
"""Every setting; file, environment, command line and documentation are made from these rows."""
