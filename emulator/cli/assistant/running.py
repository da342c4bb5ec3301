"""How a tool does its work: as a command in a process of its own, whose answer is cut to what an assistant can read.

A process, because what it prints cannot reach the protocol's standard output, and because cancelling ends it.
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
"""Bytes of an answer without ``detail``; with what is said around it an answer stays below 4 kB."""

PROGRESS_EVERY_S: Final = 1.0

TIDY_UP_S: Final = 10.0
"""A cancelled exploration waits for the run under way before it puts the state back."""


class Project:
    """The folder that an assistant works in and its emulator; tools read and write files of this folder only."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder.resolve()

    @property
    def within(self) -> Words:
        """The words that keep a command to the files of the folder."""
        return ("--within", str(self.folder))

    def file(self, path: str) -> str:
        """Return *path* when it is in the folder and not in the emulator's state. Raises: ToolError."""
        found = self.folder / path
        state = self.settings.config.state.resolve()
        if not is_within(found, self.folder) or found.resolve().is_relative_to(state):
            raise ToolError(f"{path} is outside of the project; tools take files of {self.folder} only")
        return str(found.resolve())

    async def ask(self, *words: str, stdin: str = "", context: Context | None = None, detail: bool = False) -> str:
        """Run a command against the emulator, after starting one where none runs, and return what it printed.

        Raises: ToolError, whose text says what to do next.
        """
        said = await self._started()
        return said + cut(await self.local(*words, stdin=stdin, context=context), detail=detail)

    async def local(self, *words: str, stdin: str = "", context: Context | None = None) -> str:
        """Run a command and return what it printed. Raises: ToolError."""
        code, out, err = await self._run(words, stdin, context)
        if code and not out.strip():
            text = await self._advice(err.strip().removeprefix("localyun: "), words)
            raise ToolError(cut(text, rest="the rest is left out"))
        return f"{out.strip()}\n{err.strip()}".strip() if code else out.strip() or err.strip()

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
        """Start an emulator when none runs; return a line that says so, or nothing."""
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
        """Return an error with what there is instead, or what the page of errors advises."""
        if lists := listing(text.partition(":")[0], words):
            failed, out, _err = await self._run((*lists, "--json"), "", None)
            if not failed:
                return instead(text, names_in(out))
        return with_remedy(text, words)


def cut(text: str, *, detail: bool = False, rest: str = "detail=true") -> str:
    """Return *text*, or what fits with how to get the *rest*."""
    encoded = text.encode()
    if detail or len(encoded) <= LIMIT:
        return text
    begin = encoded[:LIMIT].decode(errors="ignore")
    begin = begin.rpartition("\n")[0] or begin
    return f"{begin}\n({len(text) - len(begin)} more characters: {rest})"


def name(value: str, what: str) -> str:
    """Return *value* for a place where a command takes a name. Raises: ToolError for what would be an option."""
    if value.startswith("-"):
        raise ToolError(f"{value} is no name of a {what}")
    return value


async def _run_to_end(
    command: list[str], stdin: bytes, folder: Path, environ: dict[str, str]
) -> tuple[int, bytes, bytes]:
    """Run a command and return its code and what it printed; one whose call is cancelled tidies up as after Ctrl-C."""
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
    """End a command that nobody waits for any more, with the time to put back what it has changed."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        with anyio.move_on_after(TIDY_UP_S):
            await process.wait()
        process.kill()


async def _tick(context: Context, what: str) -> None:
    """Tell the client now and again that the work goes on."""
    seconds = 0.0
    while True:
        await context.report_progress(seconds, None, f"{what}: {seconds:.0f} s")
        await anyio.sleep(PROGRESS_EVERY_S)
        seconds += PROGRESS_EVERY_S
