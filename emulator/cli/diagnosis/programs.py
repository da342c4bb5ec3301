"""Tool chains that run functions, and installed SDKs with known trouble."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from emulator.cli.diagnosis.machine import installed
from emulator.cli.diagnosis.model import Finding, Findings, ok, remark, wrong
from emulator.cli.output import _
from emulator.config import Config
from emulator.kernel.frozen import frozen

VERSION_TIMEOUT_S = 5.0


@frozen
class ToolChain:
    """A program that functions of ``runtimes`` need, and how it tells its version."""

    program: str
    question: tuple[str, ...]
    runtimes: str


TOOL_CHAINS = (
    ToolChain(program="node", question=("--version",), runtimes="nodejs*"),
    ToolChain(program="java", question=("-version",), runtimes="java*, custom (Java)"),
    ToolChain(program="go", question=("version",), runtimes="go1, custom (Go)"),
    ToolChain(program="php", question=("--version",), runtimes="php*, custom (PHP)"),
    ToolChain(program="dotnet", question=("--version",), runtimes="custom (.NET)"),
    ToolChain(program="docker", question=("version", "--format", "{{.Server.Version}}"), runtimes="custom-container"),
)


@frozen
class Trouble:
    """An SDK that does not work as it is: *distribution* below *fixed_in*, on Python from *python* on.

    *fixed_in* is empty when no version is known that has it mended. ``where`` is ``python`` or ``node``.
    """

    where: str
    distribution: str
    fixed_in: str = ""
    python: tuple[int, int] = (3, 0)
    what: str
    remedy: str


def known_trouble() -> tuple[Trouble, ...]:
    """Return what is known of the SDKs.

    Source: the packages' own source. ``six`` in aliyun-python-sdk-core 2.13.36 has no ``find_spec``, which Python 3.12
    asks importers for, and in 2.16.1 it has; ``endpoint`` of ``@alicloud/mns`` came with 1.2.0.
    """
    return (
        Trouble(
            where="python",
            distribution="aliyun-python-sdk-core",
            fixed_in="2.13.37",
            python=(3, 12),
            what=_("its own copy of six cannot be imported by Python 3.12 and newer"),
            remedy="pip install --upgrade aliyun-python-sdk-core",
        ),
        Trouble(
            where="node",
            distribution="@alicloud/mns",
            fixed_in="1.2.0",
            what=_("it takes no address, so it calls the cloud"),
            remedy="npm install @alicloud/mns@latest",
        ),
        Trouble(
            where="node",
            distribution="ali-mns",
            what=_("it takes no address, so it calls the cloud"),
            remedy=_("run the program with localyun exec, or use @alicloud/mns"),
        ),
    )


def tool_chains(config: Config, which: Callable[[str], str | None] = shutil.which) -> Findings:
    """Look what functions of each runtime would run on."""
    for runtime, executable in config.runtimes.items():
        if not executable.is_file():
            text = _("runtimes names {path} for {runtime}, which is not there", path=executable, runtime=runtime)
            yield wrong("runtimes", text, _("correct runtimes in localyun.yaml"))
    yield ok("runtimes", f"python3*: {sys.executable}")
    for chain in TOOL_CHAINS:
        program = which(chain.program)
        if program is None:
            text = _("there is no {program}; functions with {runtimes} cannot run", program=chain.program,
                     runtimes=chain.runtimes)  # fmt: skip
            yield remark(
                "runtimes", text, _("install it if you need them, or name one under runtimes: in localyun.yaml")
            )
        else:
            yield _tool_chain(chain, program)


def _tool_chain(chain: ToolChain, path: str) -> Finding:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - a program of the user's own path
            [path, *chain.question], capture_output=True, text=True, errors="replace", timeout=VERSION_TIMEOUT_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode == 0:
            return ok("runtimes", f"{chain.runtimes}: {path}, {(done.stdout or done.stderr).strip().splitlines()[0]}")
    text = _("{path} does not answer; functions with {runtimes} cannot run", path=path, runtimes=chain.runtimes)
    return remark("runtimes", text, _("start its service, or repair it, if you need them"))


def sdks(
    folder: Path, troubles: Iterable[Trouble] | None = None, version: tuple[int, ...] = tuple(sys.version_info[:2])
) -> Findings:
    """Look for SDKs with known trouble, in this Python and in ``node_modules`` of *folder*."""
    problems = []
    for trouble in known_trouble() if troubles is None else troubles:
        found = installed(trouble.distribution) if trouble.where == "python" else _node(folder, trouble.distribution)
        if not found or version < trouble.python or (trouble.fixed_in and not _is_older(found, trouble.fixed_in)):
            continue
        text = f"{trouble.distribution} {found}: {trouble.what}"
        problems.append(wrong("sdks", text, trouble.remedy))
    yield from problems or [ok("sdks", _("no SDK with known trouble is installed here"))]


def _node(folder: Path, package: str) -> str:
    """Return the version of a package of Node.js, empty when it is not installed in *folder*."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((folder / "node_modules" / package / "package.json").read_text("utf-8"))["version"])
    return ""


def _is_older(version: str, other: str) -> bool:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)]

    return numbers(version) < numbers(other)
