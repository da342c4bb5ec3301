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
    """A cache of programs by the ids of their definitions. Methods that read one raise `DefinitionError`."""

    def __init__(self, text_of: Callable[[DefinitionId], str]) -> None:
        self._text_of = text_of
        self._programs: OrderedDict[DefinitionId, Program] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None

    async def read(self, text: str) -> Program:
        """Parse a definition, a long one in a thread so that the loop is not blocked."""
        if _is_quick(text):
            return read_program(text)
        if self._thread is None:
            # slow to import and seldom needed
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, thread_name_prefix="workflow-definitions")
        return await asyncio.get_running_loop().run_in_executor(self._thread, read_program, text)

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
        if not _is_quick(text):
            return None
        return self.keep(definition, read_program(text))

    def find_now(self, definition: DefinitionId) -> Program:
        """Return a program, parsing even a long text at once: for callers that must answer in this tick."""
        return self.find(definition) or self.keep(definition, read_program(self._text_of(definition)))

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
        """Forget all programs."""
        self._programs.clear()

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            self._thread = None
