"""Numbers and choices of the function runtime, fixed when the emulator starts."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from emulator.kernel.frozen import frozen

MEBIBYTE = 1024 * 1024


@frozen
class RuntimeSettings:
    """How instances are started, bounded and ended. Sizes in bytes, spans in seconds unless named otherwise.

    ``interpreters`` maps a runtime name (``python3.9``, ``nodejs18``) to an executable; every other Python runtime runs
    on the emulator's own interpreter, every other Node.js runtime on the ``node`` of the search path. ``start_method``
    ``fork`` needs a Unix system; ``auto`` takes it where it exists. ``redirect_hook`` is the stand-alone Python file
    whose ``install()`` sends calls to the cloud's names to the emulator; it reads the ``LOCALYUN_*`` variables of
    ``extra_environment``. ``add_hooks`` returns the environment of any other program with what redirects it. A custom
    runtime has ``listen_timeout_s`` to open its port.
    """

    interpreters: Mapping[str, str] = field(default_factory=dict)
    start_method: Literal["auto", "fork", "exec"] = "auto"
    extra_environment: Mapping[str, str] = field(default_factory=dict)
    redirect_hook: Path | None = None
    add_hooks: Callable[[Mapping[str, str]], dict[str, str]] = dict
    max_instances: int = 100
    max_processes: int = 1024
    idle_s: int = 300
    kill_grace_s: float = 0.5
    start_timeout_s: float = 30.0
    listen_timeout_s: float = 120.0
    log_limit: int = 64 * 1024
    response_limit: int = 32 * MEBIBYTE
