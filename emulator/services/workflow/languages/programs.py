"""The languages of flows, and the programs read from definitions.

A definition's text is read by its language (`engine.language` says what a language provides) and kept while it is among
the most recently used. A short text is read where it is needed; reading a long one, or loading a language, would hold
the loop, so it happens in a thread and the caller comes back.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.services.workflow.engine.language import Program
from emulator.services.workflow.model import DefinitionId

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from emulator.wire.yaml import Node

KEPT = 128
SHORT_CHARS = 2 * 1024
"""The longest text that is parsed on the loop: about two milliseconds, once per definition and start."""
READ_CHARS = 128 * 1024
"""How long the texts may be, together, whose programs are kept by their text; their programs take some megabytes."""


def read_program(text: str) -> Program:
    """Return the program of the definition *text*, YAML or JSON.

    Takes about half a millisecond for ten steps and grows with the text, and some 20 ms more on the first call, which
    loads the language; the caller keeps the result.

    Raises: DefinitionError, for everything that would keep the flow from running as written.
    """
    # Here, because an emulator that has no flows starts faster without the reader and YAML.
    from emulator.services.workflow.languages.document import read_document

    root = read_document(text)
    if _is_machine(root):
        from emulator.services.workflow.languages.statemachine.reader import read_machine

        return read_machine(root)
    from emulator.services.workflow.languages.fdl.reader import read_flow

    return read_flow(root)


def _is_machine(root: "Node") -> bool:
    """Whether a document is of the state machine language, whose keys begin with a capital letter."""
    from emulator.wire.yaml import Table

    return isinstance(root, Table) and any(
        key.text in {"Type", "SpecVersion", "StartAt", "States"} for key, _ in root.entries
    )


def _is_quick(text: str) -> bool:
    """Whether reading *text* takes no longer than the loop can wait: it is short, and its language has been loaded."""
    language = "statemachine" if "StartAt" in text else "fdl"  # a guess that is seldom wrong, and then costs an import
    return len(text) <= SHORT_CHARS and f"{__package__}.{language}.reader" in sys.modules


class Programs:
    """A cache of programs by the ids of their definitions. Methods that read one raise `DefinitionError`.

    Programs are kept by their texts too, for ids that another state has: tests restore one before each of them, and
    make the same flows again.
    """

    def __init__(self, text_of: Callable[[DefinitionId], str]) -> None:
        self._text_of = text_of
        self._programs: OrderedDict[DefinitionId, Program] = OrderedDict()
        self._read: OrderedDict[str, Program] = OrderedDict()
        self._read_chars = 0
        self._thread: ThreadPoolExecutor | None = None

    async def read(self, text: str) -> Program:
        """Parse a definition, a long one in a thread so that the loop is not blocked."""
        program = self._read_before(text)
        if program is not None or _is_quick(text):
            return program or self._remember(text, read_program(text))
        if self._thread is None:
            # slow to import and seldom needed
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, thread_name_prefix="workflow-definitions")
        program = await asyncio.get_running_loop().run_in_executor(self._thread, read_program, text)
        return self._remember(text, program)

    def known(self, definition: DefinitionId) -> Program | None:
        """Return a program that has been read and is still in memory, or None."""
        program = self._programs.get(definition)
        if program is not None:
            self._programs.move_to_end(definition)
        return program

    def find(self, definition: DefinitionId) -> Program | None:
        """Return a program; None when reading it takes long and `load` has to come first."""
        program = self.known(definition)
        if program is not None:
            return program
        text = self._text_of(definition)
        program = self._read_before(text)
        if program is None and not _is_quick(text):
            return None
        return self.keep(definition, program or self._remember(text, read_program(text)))

    def find_now(self, definition: DefinitionId) -> Program:
        """Return a program, parsing even a long text at once: for callers that must answer in this tick."""
        program = self.find(definition)
        if program is None:
            text = self._text_of(definition)
            program = self.keep(definition, self._remember(text, read_program(text)))
        return program

    async def load(self, definition: DefinitionId) -> None:
        """Read a definition in a thread, and cache its program unless the id was removed or reused meanwhile."""
        text = self._text_of(definition)
        if text:
            program = await self.read(text)
            if self._text_of(definition) == text:
                self.keep(definition, program)

    def keep(self, definition: DefinitionId, program: Program) -> Program:
        """Cache and return a program that has been read already."""
        self._programs[definition] = program
        if len(self._programs) > KEPT:
            self._programs.popitem(last=False)
        return program

    def drop(self, definition: DefinitionId) -> None:
        """Remove one program, whose definition was removed, from the cache."""
        self._programs.pop(definition, None)

    def clear(self) -> None:
        """Forget which id has which program: another state's tables are about to take the place of these."""
        self._programs.clear()

    def _read_before(self, text: str) -> Program | None:
        program = self._read.get(text)
        if program is not None:
            self._read.move_to_end(text)
        return program

    def _remember(self, text: str, program: Program) -> Program:
        if self._read.setdefault(text, program) is program:
            self._read_chars += len(text)
        while self._read_chars > READ_CHARS:
            oldest, _ = self._read.popitem(last=False)
            self._read_chars -= len(oldest)
        return program

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            self._thread = None
