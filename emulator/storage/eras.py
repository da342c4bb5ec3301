"""Which work may write: none that began before everything stood still.

An era lasts from one standstill to the next (`emulator.lab.checkpoints.standstill`). What work has read and decided in
one may not hold in the next, so a write of earlier work is refused. The work that lets everything stand still goes on
in the era that it begins, and so does the work that it is part of.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Overtaken(Exception):
    """Work that began in an earlier era wanted to write: what it has read and decided may hold no more."""


class Work:
    """Work of an era that goes on in steps, between which it waits (`emulator.storage.database.Steps`)."""

    __slots__ = ("era", "is_overtaken", "outer", "outlasts")

    era: int
    outer: "Work | None"
    """The work that this is part of, while it is running."""
    outlasts: bool
    """Whether it goes on after a restart that replaces no tables."""
    is_overtaken: bool
    """Whether it has tried to write in a later era."""


class Eras:
    """The present era, and the work whose step is being performed; *overtaken* is called before a write is refused."""

    def __init__(self, overtaken: Callable[[], None]) -> None:
        self._overtaken = overtaken
        self.current = 0
        """Counts how often everything stood still."""
        self._replaced = 0
        """The latest era that began with other tables."""
        self.running: Work | None = None
        """The work whose step is being performed; None for what is no part of such work, such as timers."""

    def begin(self, *, replaces: bool = True) -> None:
        """Begin an era, in which of all the work under way the running one alone may write.

        Unless it *replaces* tables, work that outlasts a restart may write too.
        """
        self.current += 1
        if replaces:
            self._replaced = self.current
        self.keep_up()

    def keep_up(self) -> None:
        """Let the running work write in this era: it relies on nothing that it knows from an earlier one."""
        for work in self._under_way():
            work.era = self.current

    def outlast_restarts(self) -> None:
        """Let the running work write in eras that begin without other tables."""
        for work in self._under_way():
            work.outlasts = True

    @contextmanager
    def for_others(self) -> Iterator[None]:
        """Perform what happens inside for others than the running work, such as their timers."""
        running, self.running = self.running, None
        try:
            yield
        finally:
            self.running = running

    def check(self) -> None:
        """Check that the running work may write, also before an effect that is no write and cannot be undone.

        Raises: Overtaken.
        """
        work = self.running
        if work is None or work.era == self.current:
            return
        if work.outlasts and work.era >= self._replaced:
            self.keep_up()
            return
        for each in self._under_way():
            each.is_overtaken = True
        self._overtaken()
        raise Overtaken("everything has stood still since it began")

    def _under_way(self) -> Iterator[Work]:
        work = self.running
        while work is not None:
            yield work
            work = work.outer
