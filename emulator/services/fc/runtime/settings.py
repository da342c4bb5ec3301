"""Numbers and choices of the function runtime, fixed when the emulator starts."""

import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from emulator.kernel.frozen import field, frozen
from emulator.services.fc import limits
from emulator.services.fc.runtime.model import Credentials, FunctionImage

_FAKETIME = (
    "/usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)


def faketime_library() -> str:
    """Return the file of libfaketime, empty where it is not installed."""
    if not hasattr(os, "uname"):
        return ""
    places = (place.format(machine=os.uname().machine) for place in _FAKETIME)
    return next((place for place in places if Path(place).is_file()), "")


class FunctionTime:
    """The time that functions see.

    ``shift`` is None while that is the system's time; else its offset from the system's time in milliseconds and, while
    the clock is frozen, the time at which it stands (None otherwise).
    """

    __slots__ = ("shift",)

    def __init__(self) -> None:
        self.shift: tuple[int, int | None] | None = None

    def frame(self) -> tuple[int, int | None, dict[str, str]]:
        """Return offset, standing time and `variables`, for the frames of an instance with an agent."""
        return (*(self.shift or (0, None)), self.variables())

    def variables(self) -> dict[str, str]:
        """Return what lets a program see this time from its start on: nothing while it is real or without libfaketime.

        Spans stay real. With its "monotonic fix" libfaketime 0.9.10 ends waits by the monotonic clock at once.

        Source: libfaketime, "Faking the date and time, system-wide"; the fix as observed.
        """
        library = faketime_library() if self.shift is not None else ""
        if self.shift is None or not library:
            return {}
        offset_ms, standing = self.shift
        shown = f"{offset_ms / 1000:+.3f}" if standing is None else f"{standing / 1000:.3f}"
        variables = {
            "LD_PRELOAD": library,
            "FAKETIME": shown,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }
        return variables if standing is None else {**variables, "FAKETIME_FMT": "%s"}


async def _nothing_to_wait_for() -> None:
    pass


@frozen
class RuntimeSettings:
    """How instances are started, bounded and ended. Sizes in bytes, spans in seconds unless named otherwise.

    ``interpreters`` maps a runtime name (``python3.9``, ``nodejs18``) to an executable; every other Python runtime runs
    on the emulator's own interpreter, every other Node.js runtime on the ``node`` of the search path. ``start_method``
    ``fork`` needs a Unix system; ``auto`` takes it where it exists. ``redirect_hook`` is the stand-alone Python file
    whose ``install()`` sends calls to the cloud's names to the emulator; it reads the ``LOCALYUN_*`` variables of
    ``extra_environment``. An instance is started when ``trusted`` has returned: the files that these variables name are
    there then. ``add_hooks`` returns the environment of any other program with what redirects it. A custom
    runtime has ``listen_timeout_s`` to open its port. ``isolation`` ``auto`` gives instances namespaces where the
    kernel has them for this user; ``scratch`` is the folder below which each instance has its own. ``confined``, when
    it is not empty, is the home folder (which need not be there), which instances with namespaces cannot change, and
    files that they see empty; nor can they change ``packages``, the folder of uploaded code.
    ``project`` is the folder whose functions run in place and may share files in it.
    A zygote that leaves a command without effect for ``zygote_silence_s`` is replaced. ``time`` is what functions see
    of the clock.
    """

    interpreters: Mapping[str, str] = field(default_factory=dict)
    start_method: Literal["auto", "fork", "exec"] = "auto"
    extra_environment: Mapping[str, str] = field(default_factory=dict)
    trusted: Callable[[], Awaitable[None]] = _nothing_to_wait_for
    redirect_hook: Path | None = None
    add_hooks: Callable[[Mapping[str, str]], dict[str, str]] = dict
    max_instances: int = 100
    max_processes: int = 1024
    idle_s: int = 300
    kill_grace_s: float = 0.5
    start_timeout_s: float = 30.0
    listen_timeout_s: float = 120.0
    log_limit: int = 64 * 1024
    response_limit: int = limits.RESPONSE_BYTES
    isolation: Literal["auto", "none"] = "auto"
    scratch: Path | None = None
    confined: tuple[Path, ...] = ()
    packages: Path | None = None
    project: Path | None = None
    zygote_silence_s: float = 3.0
    time: FunctionTime = field(default_factory=FunctionTime)


RUNTIME_VERSION = "localyun"
"""``FC_RUNTIME_VERSION``: the version of the agent, whose form is not documented."""

LOG_LEVEL = "FC_SERVER_LOG_LEVEL"
"""A variable of the function that sets the level of the root logger; the agent reads and removes it."""

_KEY_VARIABLES = (
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "accessKeyID"),
    ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "accessKeySecret"),
    ("ALIBABA_CLOUD_SECURITY_TOKEN", "securityToken"),
)
_RESERVED = frozenset(name for names in _KEY_VARIABLES for name in names)


def instance_environment(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, *, isolated: bool
) -> dict[str, str]:
    """Return the variables an instance of *image* starts with; the keys of its role come with each call.

    The function's own variables may replace ``PATH``, ``HOME`` and the like, but no reserved name.
    """
    if isolated:
        scratch = "/tmp"  # noqa: S108 - the instance's own
    else:
        scratch = str(settings.scratch / instance_id) if settings.scratch is not None else tempfile.gettempdir()
    system = _system_variables(scratch, str(image.code_dir), [str(layer) for layer in image.layers])
    return system | function_environment(image, instance_id) | dict(settings.extra_environment)


def waiting_environment(settings: RuntimeSettings) -> dict[str, str]:
    """Return the variables of a process that waits in namespaces of its own until it is known whose instance it is."""
    return _system_variables("/tmp", "/code", []) | dict(settings.extra_environment)  # noqa: S108 - its own


def shell_environment(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, keys: Credentials | None, *, isolated: bool
) -> dict[str, str]:
    """Return the variables of a program that is an instance of *image*, or of a command that runs beside one."""
    environment = settings.add_hooks(instance_environment(image, instance_id, settings, isolated=isolated))
    return environment | settings.time.variables() | key_variables(image, keys)


def function_environment(image: FunctionImage, instance_id: str) -> dict[str, str]:
    """Return the function's own variables, but for reserved names, and the platform's variables about it."""
    own = {
        name: value
        for name, value in image.environment.items()
        if not name.startswith(("FC_", "_FC_")) and name not in _RESERVED
    }
    platform = {
        "FC_FUNC_CODE_PATH": str(image.code_dir),
        "FC_FUNCTION_NAME": image.function,
        "FC_FUNCTION_HANDLER": image.handler,
        "FC_FUNCTION_MEMORY_SIZE": str(image.memory_mb),
        "FC_VER_ID": image.version,
        "FC_FUNCTION_VERSION": image.version,
        "FC_QUALIFIER": image.version,
        "FC_REGION": image.region,
        "FC_ACCOUNT_ID": image.account,
        "FC_INSTANCE_ID": instance_id,
        "FC_RUNTIME_VERSION": RUNTIME_VERSION,
    }
    if image.service is not None:
        platform["FC_SERVICE_NAME"] = image.service
    return own | platform


def key_variables(image: FunctionImage, keys: Credentials | None) -> dict[str, str]:
    """Return the variables that hold the temporary keys of the function's role, under the names of both generations."""
    if keys is None or not image.keys_in_environment:
        return {}
    return {name: value for names, value in zip(_KEY_VARIABLES, keys, strict=True) for name in names}


def _system_variables(scratch: str, code: str, layers: list[str]) -> dict[str, str]:
    libraries = [code, f"{code}/lib", "/usr/local/lib", *(f"{layer}/lib" for layer in layers)]
    variables = {
        "PATH": os.pathsep.join([*(f"{layer}/bin" for layer in layers), os.environ.get("PATH", os.defpath)]),
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": ":".join(libraries),
    }
    if "SYSTEMROOT" in os.environ:  # no process starts without it on Windows
        variables["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return variables
