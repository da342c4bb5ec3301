"""Parsed definitions, kept for the executions that use them.

A parsed flow is kept while it is among the most recently used. A short text is parsed where it is needed; parsing a
long one would hold the loop, so it happens in a thread and the asker comes back.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator.services.workflow.definition.nodes import Flow
from emulator.services.workflow.definition.parse import parse_flow
from emulator.services.workflow.model import DefinitionId

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

KEPT = 128
SHORT_CHARS = 2 * 1024
"""About two milliseconds of parsing, once per definition and start of the emulator."""


class Definitions:
    """The parsed flows by definition id."""

    def __init__(self, text_of: Callable[[DefinitionId], str]) -> None:
        self._text_of = text_of
        self._flows: OrderedDict[DefinitionId, Flow] = OrderedDict()
        self._thread: ThreadPoolExecutor | None = None

    async def parse(self, text: str) -> Flow:
        """Parse a definition without holding the loop.

        Raises: DefinitionError.
        """
        if len(text) <= SHORT_CHARS:
            return parse_flow(text)
        if self._thread is None:
            # slow to import and seldom needed
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, thread_name_prefix="workflow-definitions")
        return await asyncio.get_running_loop().run_in_executor(self._thread, parse_flow, text)

    def find(self, definition: DefinitionId) -> Flow | None:
        """Return a parsed flow; None when its text is long and `load` has to come first.

        Raises: DefinitionError.
        """
        flow = self._flows.get(definition)
        if flow is not None:
            self._flows.move_to_end(definition)
            return flow
        text = self._text_of(definition)
        if len(text) > SHORT_CHARS:
            return None
        return self.keep(definition, parse_flow(text))

    def find_now(self, definition: DefinitionId) -> Flow:
        """Return a parsed flow, parsing even a long text at once: for callers that must answer in this tick.

        Raises: DefinitionError.
        """
        return self.find(definition) or self.keep(definition, parse_flow(self._text_of(definition)))

    async def load(self, definition: DefinitionId) -> Flow:
        """Parse a flow in a thread and keep it.

        Raises: DefinitionError.
        """
        return self.keep(definition, await self.parse(self._text_of(definition)))

    def keep(self, definition: DefinitionId, flow: Flow) -> Flow:
        """Keep a flow that has been parsed already."""
        self._flows[definition] = flow
        if len(self._flows) > KEPT:
            self._flows.popitem(last=False)
        return flow

    def clear(self) -> None:
        """Forget all flows."""
        self._flows.clear()

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            self._thread = None
