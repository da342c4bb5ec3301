"""How services show their work, and where tests inject faults and mocks into calls.

A service shows what keeps it busy, what is due later and what waits for someone outside (`Observed`). Code that makes
or serves a call names it (`Subject`) and first asks `Interference` for faults: errors, delays, lost connections,
functions that break. While no fault is set, that costs one look at an empty list, and the gateway does not even ask.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from typing import Literal, NamedTuple, Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.frozen import frozen


@frozen
class Busy:
    """Work that is not finished, so that the emulator is not quiet.

    ``kind`` is ``request``, ``call``, ``push``, ``trigger``, ``execution``, ``timer``, ``restart`` or that of an effect
    which waits for its turn; ``resource`` names what works, ``since`` when it began (emulator time, 0: unknown),
    ``detail`` what it is about: a request id, an endpoint, a step.
    ``waits`` is ``turn`` for what only waits for its turn, ``function`` for what waits for a function's end.
    """

    kind: str
    resource: str
    since: Millis = Millis(0)
    detail: str = ""
    waits: Literal["", "turn", "function"] = ""


@frozen
class Upcoming:
    """Something that happens by itself at a known time.

    ``kind`` is what ``resource`` names: ``queue``, ``topic``, ``function``, ``flow`` or ``execution``.
    ``recurring`` things come again for ever (schedules, timer triggers); they are no reason to jump while quiet is
    waited for.
    """

    at: Millis
    what: str
    resource: str
    kind: str = ""
    recurring: bool = False


EVENTS = (
    *("end of a wait", "timeout of a step", "timeout of the flow", "a message becomes visible", "answer of a mock"),
    *("push attempt", "timer trigger", "schedule", "an asynchronous call, retry", "an asynchronous call"),
    *("end of session", "retry"),
)
"""The kinds of upcoming events: `Upcoming.what` begins with one of them; a name or number may follow."""


def parted(what: str, kinds: Iterable[str] = EVENTS) -> tuple[str, str]:
    """Split *what* into its kind, the longest of *kinds* that it begins with, and the rest; without one, all of it."""
    kind = max((each for each in kinds if f"{what} ".startswith(f"{each} ")), key=len, default=what)
    return kind, what[len(kind) :]


@frozen
class Waiting:
    """Work that only the outside can finish: a task token to be reported, an endpoint that does not answer."""

    resource: str
    detail: str


class Watchers(list[Callable[[], None]]):
    """Callbacks without arguments; the owner of the list calls `notify` after every change."""

    def add(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call *notify* from now on, until the function that is returned is called."""
        self.append(notify)

        def stop() -> None:
            if notify in self:
                self.remove(notify)

        return stop

    def notify(self) -> None:
        """Call every callback."""
        for notify in tuple(self):
            notify()


class Observed(Protocol):
    """One service, or the gateway, as the clock and the console see it."""

    def busy(self, now: Millis) -> Iterable[Busy]:
        """Return unfinished work; parked long polls and what waits for a later time do not count."""
        ...

    def upcoming(self, now: Millis, limit: int) -> Iterable[Upcoming]:
        """Return the next *limit* things due after *now*, in no particular order."""
        ...

    def waiting(self) -> Iterable[Waiting]:
        """Return what waits for the outside, for the diagnosis of a skip that cannot end."""
        ...


Origin = Literal["client", "flow", "trigger", "push", "async"]
"""Who makes a call: an SDK, a flow's task, a trigger of a function, a topic's push, the queue of asynchronous calls."""

FunctionFault = Literal["timeout", "crash", "oom", "exception"]
"""The failures that can be injected into a function."""


class Subject(NamedTuple):
    """A call that may be interfered with.

    ``names`` are those its resource goes by: ``orders``, ``queues/orders``; ``service/function``; ``flow/execution``.
    ``origins`` is who makes the call; an attempt of an asynchronous call is also its first caller's.
    """

    service: str
    operation: str
    names: tuple[str, ...]
    origins: tuple[Origin, ...]


INTERNAL_ERROR = "internalerror"
"""The name of the internal error, which each table spells in its own way."""


class Dialect(NamedTuple):
    """The errors of a service: their class, and two rows of its table.

    ``throttling`` is what it answers to callers that are too quick; ``lost`` is what callers inside the emulator see of
    a connection that is closed: the service's internal error, whatever its table calls that.
    """

    errors: type[ServiceError]
    throttling: str
    lost: str = INTERNAL_ERROR


class Interference(Protocol):
    """Injects faults into calls that do not come through the gateway."""

    active: bool
    """Whether any fault is set."""

    def around(self, subject: Subject, dialect: Dialect) -> AbstractAsyncContextManager[None]:
        """Return a context for making a call in: a fault delays it or raises before it, or after it has been done.

        Raises: an error of *dialect*.
        """
        ...

    def within(self, subject: Subject, dialect: Dialect) -> AbstractContextManager[None]:
        """Return a context for a call that is made within a transaction, where nothing can be waited for.

        A fault raises before it, or after it has been done: what it has written stays, and its caller is not told.

        Raises: an error of *dialect*.
        """
        ...

    def function_fault(self, subject: Subject) -> FunctionFault | Literal[""]:
        """Return the failure to inject into the function of a call, "" for none."""
        ...


class NoInterference:
    """Injects nothing."""

    active = False

    @asynccontextmanager
    async def around(self, subject: Subject, dialect: Dialect) -> AsyncIterator[None]:
        """Return a context that does nothing."""
        yield

    def within(self, subject: Subject, dialect: Dialect) -> AbstractContextManager[None]:
        """Return a context that does nothing."""
        return nullcontext()

    def function_fault(self, subject: Subject) -> Literal[""]:
        """Return "": the function runs."""
        return ""
