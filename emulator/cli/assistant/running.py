"""Running a tool's command in a process of its own, and cutting its output to what an assistant can read.

It is a process so that its output cannot get into the protocol's standard output, and so that it can be cancelled.
"""

import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from emulator.cli.assistant.advice import Words, instead, listing, names_in, with_remedy
from emulator.cli.client import connected
from emulator.cli.output import CommandFailed, NoEmulator, OtherEmulator
from emulator.config import Settings
from emulator.kernel.bounds import is_within

LIMIT: Final = 3800
"""Bytes of an answer without ``detail``; with the text around it an answer stays below 4 kB."""

PROGRESS_EVERY_S: Final = 1.0

TIDY_UP_S: Final = 10.0
"""Seconds for a cancelled command to tidy up: an exploration finishes its run before it restores the state."""


class Project:
    """The folder that an assistant works in and its emulator; tools read and write files of this folder only."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder.resolve()

    @property
    def within(self) -> Words:
        """The arguments that restrict a command to the files of the folder."""
        return ("--within", str(self.folder))

    def file(self, path: str) -> str:
        """Return *path*, which has to be in the folder and outside of the emulator's state. Raises: ToolError."""
        found = self.folder / path
        state = self.settings.config.state.resolve()
        if found.resolve().is_relative_to(state):
            raise ToolError(f"{path} is in the folder of the emulator's state, whose files tools leave alone")
        if not is_within(found, self.folder):
            raise ToolError(f"{path} is outside of the project; tools take files of {self.folder} only")
        return str(found.resolve())

    async def ask(
        self, *words: str, stdin: str = "", context: Context | None = None, detail: bool = False, notes: bool = False
    ) -> str:
        """Run a command against the emulator, started first if none runs; return its output, and with *notes* these.

        Raises: ToolError, whose text says what to do next.
        """
        said = await self._started()
        return said + cut(await self.local(*words, stdin=stdin, context=context, notes=notes), detail=detail)

    async def local(self, *words: str, stdin: str = "", context: Context | None = None, notes: bool = False) -> str:
        """Run a command, without starting an emulator first, and return its output. Raises: ToolError."""
        code, out, err = await self._run(words, stdin, context)
        if code and not out.strip():
            text = await self._advice(err.strip().removeprefix("localyun: "), words)
            raise ToolError(cut(text, rest="the rest is left out"))
        return f"{out.strip()}\n{err.strip()}".strip() if code or notes else out.strip() or err.strip()

    async def _run(self, words: Words, stdin: str, context: Context | None) -> tuple[int, str, str]:
        command = [sys.executable, "-P", "-m", "emulator", *words]
        environ = {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": "", "COLUMNS": "120", "NO_COLOR": "1"}
        environ["LOCALYUN_STATE"] = str(self.settings.config.state)
        async with anyio.create_task_group() as group:
            if context is not None:
                group.start_soon(_tick, context, " ".join(words[:2]))
            code, out, err = await _run_to_end(command, stdin.encode(), self.folder, environ)
            group.cancel_scope.cancel()
        return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    async def _started(self) -> str:
        """Start an emulator if none runs; return a line that says so, else ""."""
        try:
            await anyio.to_thread.run_sync(connected, self.settings)
        except (NoEmulator, OtherEmulator) as error:
            if "LOCALYUN_ENDPOINT" in os.environ:
                raise ToolError(f"{error.what} LOCALYUN_ENDPOINT names that address.") from error
        except CommandFailed as error:
            raise ToolError(str(error)) from error
        else:
            return ""
        code, _out, err = await self._run(("start", "-d", "--port", "auto"), "", None)
        if code:
            raise ToolError(f"No emulator ran for {self.folder}, and none could be started: {err.strip()}")
        return f"(no emulator ran for {self.folder}; one was started, `localyun stop` ends it)\n"

    async def _advice(self, text: str, words: Words) -> str:
        """Return an error with the existing names, or with the advice of the page of errors."""
        if lists := listing(text.partition(":")[0], words):
            failed, out, _err = await self._run((*lists, "--json"), "", None)
            if not failed:
                return instead(text, names_in(out))
        return with_remedy(text, words)


def cut(text: str, *, detail: bool = False, rest: str = "detail=true") -> str:
    """Return *text*, or its beginning with a hint how to get the *rest*."""
    encoded = text.encode()
    if detail or len(encoded) <= LIMIT:
        return text
    begin = encoded[:LIMIT].decode(errors="ignore")
    begin = begin.rpartition("\n")[0] or begin
    return f"{begin}\n({len(text) - len(begin)} more characters: {rest})"


def name(value: str, what: str) -> str:
    """Return *value*, which a command takes as a name. Raises: ToolError when it would be read as an option."""
    if value.startswith("-"):
        raise ToolError(f"{value} is no name of a {what}")
    return value


async def _run_to_end(
    command: list[str], stdin: bytes, folder: Path, environ: dict[str, str]
) -> tuple[int, bytes, bytes]:
    """Run a command; return its exit code, output and errors. When the call is cancelled, it ends as after Ctrl-C."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = await anyio.open_process(command, stdin=given, cwd=folder, env=environ)
        printed: dict[str, bytes] = {}

        async def read(name: str, stream: Any) -> None:
            printed[name] = b"".join([piece async for piece in stream])

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(read, "out", process.stdout)
                group.start_soon(read, "err", process.stderr)
                code = await process.wait()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await _end(process)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await process.aclose()
    return code, printed["out"], printed["err"]


async def _end(process: Process) -> None:
    """End a cancelled command, giving it time to restore what it has changed."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        with anyio.move_on_after(TIDY_UP_S):
            await process.wait()
        process.kill()


async def _tick(context: Context, what: str) -> None:
    """Report to the client, at intervals, that the work continues."""
    seconds = 0.0
    while True:
        await context.report_progress(seconds, None, f"{what}: {seconds:.0f} s")
        await anyio.sleep(PROGRESS_EVERY_S)
        seconds += PROGRESS_EVERY_S
