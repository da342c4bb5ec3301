"""What tests do to calls on purpose: errors, delays, lost connections, functions that break, answers of mocks.

Whoever makes or serves a call names it (`Subject`) and asks here first. While there is nothing to interfere with,
asking costs one look at an empty list, and the gateway does not even ask.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, NamedTuple, Protocol

from emulator.kernel.errors import ServiceError

Origin = Literal["client", "flow", "trigger", "push", "async"]
"""Who makes a call: an SDK, a flow's task, a trigger of a function, a topic's push, the queue of asynchronous calls."""

FunctionFault = Literal["timeout", "crash", "oom", "exception"]
"""How a function is made to break; "" stands for not at all."""


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
    """Faults for calls that do not come through the gateway."""

    active: bool
    """Whether there is any fault."""

    def around(self, subject: Subject, dialect: Dialect) -> AbstractAsyncContextManager[None]:
        """Return a context for making a call in: a fault delays it or raises before it, or after it has been done.

        Raises: an error of *dialect*.
        """
        ...

    def check(self, subject: Subject, dialect: Dialect) -> None:
        """Raise before a call that is made within a transaction, where nothing can be waited for.

        Raises: an error of *dialect*.
        """
        ...

    def function_fault(self, subject: Subject) -> FunctionFault | Literal[""]:
        """Return how the function of a call shall break."""
        ...


class NoInterference:
    """Leaves every call alone."""

    active = False

    @asynccontextmanager
    async def around(self, subject: Subject, dialect: Dialect) -> AsyncIterator[None]:
        """Do nothing."""
        yield

    def check(self, subject: Subject, dialect: Dialect) -> None:
        """Let the call be made."""

    def function_fault(self, subject: Subject) -> Literal[""]:
        """Return that the function shall run."""
        return ""
