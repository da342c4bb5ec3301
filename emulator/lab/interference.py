"""Injecting faults into calls: at the gateway, inside the emulator, and in functions.

Delays are real time, like a slow network: clients' own timeouts see them. Inside the emulator there is no connection to
drop: a dropped call ends in the service's internal error, before or after its work.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal, cast

from emulator.http.message import HangUp, Response
from emulator.kernel.errors import ErrorRow, ServiceError
from emulator.kernel.instrumentation import INTERNAL_ERROR, Dialect, FunctionFault, Subject
from emulator.lab.faults import Effect, FaultBook, Rule
from emulator.wire.request import Answer, Front, NamingFront, OperationRequest

_log = logging.getLogger(__name__)

Stage = Callable[[Front, OperationRequest], Answer | None]


class Faults:
    """Injects the faults of the book (`emulator.kernel.instrumentation.Interference`).

    *interfere* registers the pipeline's stage for faults; it is called with None when there are no faults.
    """

    def __init__(self, interfere: Callable[[Stage | None], None] = lambda stage: None) -> None:
        self.book = FaultBook()
        self.active = False
        """Whether there is any fault; a plain attribute, because every call looks at it."""
        self._interfere = interfere
        self._notice: Callable[[Front, OperationRequest], None] | None = None

    def add(self, rule: Rule) -> str:
        """Add a fault and return its id.

        Raises: LabError (LimitExceeded).
        """
        name = self.book.add(rule)
        self.take_up(self.book)
        return name

    def remove(self, name: str) -> None:
        """Remove a fault.

        Raises: LabError (NotFound).
        """
        self.book.remove(name)
        self.take_up(self.book)

    def clear(self) -> int:
        """Remove all faults and return how many there were."""
        number = self.book.clear()
        self.take_up(self.book)
        return number

    def take_up(self, book: FaultBook) -> None:
        """Use the rules of *book*, a new one or the present one after a change."""
        self.book = book
        self.active = len(book) > 0
        self._interfere(self.stage if self.active or self._notice is not None else None)

    def observe(self, notice: Callable[[Front, OperationRequest], None] | None) -> None:
        """Call *notice* with every request before its operation runs; None ends that."""
        self._notice = notice
        self.take_up(self.book)

    @asynccontextmanager
    async def around(self, subject: Subject, dialect: Dialect) -> AsyncIterator[None]:
        """Apply the fault or delay injected for *subject* to the call that is made inside the ``async with``.

        Raises: the injected error, in the form of *dialect*, before the call or after it.
        """
        effect = self._struck(subject) if self.active else None
        if effect is None:
            yield
            return
        if effect.delay_ms:
            await asyncio.sleep(effect.delay_ms / 1000)
        _raise(effect, subject, dialect)
        yield
        if effect.drop == "after":
            raise made_error(dialect, dialect.lost, 500, subject)

    @contextmanager
    def within(self, subject: Subject, dialect: Dialect) -> Iterator[None]:
        """Inject a fault into the call made inside the ``with``, in a transaction, where nothing can be delayed.

        Raises: an error of *dialect*. After a fault that loses the answer, what the call has written stays.
        """
        effect = self._struck(subject, instant=True) if self.active else None
        if effect is None:
            yield
            return
        _raise(effect, subject, dialect)
        yield
        if effect.drop == "after":
            raise made_error(dialect, dialect.lost, 500, subject)

    def function_fault(self, subject: Subject) -> FunctionFault | Literal[""]:
        """Return the failure to inject into the function of a call, "" for none."""
        effect = self._struck(subject, running=True) if self.active else None
        return cast("FunctionFault", effect.function) if effect is not None else ""

    def _struck(self, subject: Subject, *, running: bool = False, instant: bool = False) -> Effect | None:
        """Return the effect to inject into a call, as `FaultBook.take` does, and log it."""
        effect = self.book.take(subject, running=running, instant=instant)
        if effect is not None:
            name = subject.names[0] if subject.names else subject.service
            fields = {"fault": effect.words, "struck": subject.operation, "resource": name}
            _log.info("a fault is injected into %(struck)s of %(resource)s: %(fault)s", fields)
        return effect

    def stage(self, front: Front, call: OperationRequest) -> Answer | None:
        """Inject a fault into a request: a stage of the gateway's pipeline, registered only while there are faults.

        Raises: ServiceError.
        """
        if self._notice is not None:
            self._notice(front, call)
        if not self.active or not isinstance(front, NamingFront):
            return None
        subject = front.subject(call)
        effect = self._struck(subject)
        if effect is None:
            return None
        if not effect.delay_ms:
            _raise(effect, subject, front.dialect, hang_up=True)
            if effect.drop == "before":
                return HangUp()
        return _disturbed(effect, subject, front, call)


async def _disturbed(effect: Effect, subject: Subject, front: NamingFront, call: OperationRequest) -> Response:
    await asyncio.sleep(effect.delay_ms / 1000)  # even 0: other tasks get a turn before the effect
    if effect.delay_ms:
        _raise(effect, subject, front.dialect, hang_up=True)
        if effect.drop == "before":
            return HangUp()
    answer = front.handle(call)
    response = answer if isinstance(answer, Response) else await answer
    return HangUp(response) if effect.drop == "after" else response


def _raise(effect: Effect, subject: Subject, dialect: Dialect, *, hang_up: bool = False) -> None:
    """Raise the error of *effect*; with *hang_up* not for a lost connection."""
    if effect.throttle:
        raise made_error(dialect, dialect.throttling, 0, subject)
    if effect.error:
        raise made_error(dialect, effect.error, effect.status, subject)
    if effect.drop == "before" and not hang_up:
        raise made_error(dialect, dialect.lost, 500, subject)


class _Fields(dict[str, Any]):
    """Fields for an error's text; an unknown field is the name of the resource."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __missing__(self, key: str) -> Any:
        return "Injected fault." if key in {"reason", "detail"} else self._name


def made_error(dialect: Dialect, code: str, status: int, subject: Subject) -> ServiceError:
    """Return the error *code* as the service words it, with *status* unless that is 0.

    A code that the service's tables do not have is answered all the same, with status 500 where none is given.
    """
    fields = _Fields(subject.names[0] if subject.names else "")
    wanted = code.lower()
    text, by_table = f"Injected fault: {code}.", 500
    for kind in dialect.errors.__mro__:
        table: Mapping[str, ErrorRow] = getattr(kind, "table", {})
        names = [name for name, row in table.items() if wanted in {name.lower(), row.code.lower()}]
        if wanted == INTERNAL_ERROR and not names:
            names = [name for name in table if name.startswith("Internal")]
        if names:
            name = next((name for name in names if name.lower() == wanted), names[0])
            by_table, text, code = table[name].status, _filled(table[name].text, fields), table[name].code or name
            break
    error = dialect.errors(code, text)
    error.code, error.http_status, error.message, error.fields = code, status or by_table, text, fields
    return error


def _filled(text: str, fields: "_Fields") -> str:
    try:
        return text.format_map(fields)
    except (ValueError, TypeError):  # a placeholder with a format specification
        return text
