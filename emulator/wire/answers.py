"""Answers that a mock gives in place of the real function or service.

Source: the project's own. The members are the same in the admin API, on the command line, in tests and in files of
cases.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.wire.durations import parse_duration

MOST_ANSWERS: Final = 10_000

Then = Literal["repeat", "real", "fail"]
"""What follows the last answer: the last one again, the real function or service, or a failure."""

_ERROR: Final = re.compile(r"([A-Z][\w.-]*)|([A-Za-z_][\w.-]*)\s*:\s*(.*)", re.DOTALL)
"""An error as one text: a name that begins with a capital, or a name and a message with a colon between."""

_ALSO: Final = {"returns": "return", "raises": "error"}
"""Names of members in options and arguments, with those in an answer."""

_JSON_ONLY: Final = ("{", "[", '"')
"""First characters of a text that has to be JSON."""


@frozen
class Answer:
    """One answer: a value or an error, after *delay_ms*; with ``never`` no answer comes."""

    value: Any = None
    error: Mapping[str, Any] | None = None
    delay_ms: int = 0
    never: bool = False

    @property
    def failed(self) -> bool:
        """Whether the answer is an error."""
        return self.error is not None

    @property
    def body(self) -> bytes:
        """The body that a function would answer with: a text as it is, anything else as JSON."""
        value = self.value if self.error is None else self.error
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "replace")

    @property
    def error_type(self) -> str:
        """The error's name."""
        return str((self.error or {}).get("errorType", "Error"))

    @property
    def error_message(self) -> str:
        """The error's message."""
        return str((self.error or {}).get("errorMessage", ""))


@frozen
class Script:
    """Answers given in turn, and what follows the last one."""

    answers: tuple[Answer, ...]
    then: Then = "repeat"

    def answer(self, at: int, whose: str) -> Answer | None:
        """Return answer number *at*, from 0 on, of the mock of *whose*; None when the real thing is to answer."""
        if at < len(self.answers):
            return self.answers[at]
        match self.then:
            case "repeat":
                return self.answers[-1]
            case "real":
                return None
            case "fail":
                message = f"the mock of {whose} has no answer for call {at + 1}"
                return Answer(error={"errorType": "MockExhausted", "errorMessage": message})


def typed_value(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Return the value of a text typed by a user: what *decode* makes of it, or the text itself where it is no JSON.

    Raises: ValueError when it begins as an object, an array or a string of JSON; RecursionError when it is nested
    too deep.
    """
    try:
        return decode(text)
    except ValueError:
        if text.lstrip().startswith(_JSON_ONLY):
            raise
        return text


def read_script(answers: Any, then: Any) -> Script:
    """Read a list of answers, and what follows them.

    Raises: ValueError with a sentence.
    """
    chosen: Then = then or "repeat"
    if chosen not in get_args(Then):
        raise ValueError(Phrase("then must be one of {names}", names=", ".join(get_args(Then))))
    documents = answers or []
    if len(documents) > MOST_ANSWERS:
        raise ValueError(Phrase("a mock has at most {most} answers", most=MOST_ANSWERS))
    read = tuple(read_answer(each) for each in documents)
    if not read and chosen == "repeat":
        raise ValueError("answers is empty, and there is nothing to repeat")
    return Script(answers=read, then=chosen)


def read_answer(answer: Any) -> Answer:
    """Read one answer.

    Raises: ValueError with a sentence.
    """
    if not isinstance(answer, Mapping):
        raise ValueError("each of the answers must be an object")  # noqa: TRY004 - shown to the user, like the others
    unknown = [name for name in answer if name not in {*_ALSO, "return", "error", "delay", "never"}]
    if unknown:
        text = "an answer has no member {name!r}; it has return (or returns), error (or raises), delay and never"
        raise ValueError(Phrase(text, name=unknown[0]))
    if len(answer.keys() - {"delay"}) > 1:
        raise ValueError("an answer returns or is an error, not both")
    delay_ms = _delay(answer.get("delay"))
    answer = {_ALSO.get(name, name): value for name, value in answer.items()}
    if "never" in answer:
        if answer["never"] is not True or delay_ms:
            raise ValueError("never is true and goes without delay: no answer comes")
        return Answer(never=True)
    if "error" not in answer:
        return Answer(value=answer.get("return"), delay_ms=delay_ms)
    error = answer["error"]
    if isinstance(error, str):
        error = error_in(error)
    if not isinstance(error, Mapping) or not all(isinstance(value, str | list) for value in error.values()):
        raise ValueError('error must be an object such as {"errorType": "ValueError", "errorMessage": "no"}')
    return Answer(error=error, delay_ms=delay_ms)


def error_in(text: str) -> dict[str, str]:
    """Return the error that a text means: ``SoldOut``, ``SoldOut: no seat is left``, or a message of ``Error``."""
    named = _ERROR.fullmatch(text.strip())
    kind, message = (named[1] or named[2], named[3] or "") if named else ("Error", text)
    return {"errorType": kind, "errorMessage": message}


def _delay(text: Any) -> int:
    if text in {None, ""}:
        return 0
    try:
        return parse_duration(text)
    except (ValueError, TypeError):
        raise ValueError("delay must be a duration such as 500ms, 30s or 1h30m") from None


def action_key(action: str) -> str:
    """Return the lower-case form in which actions of tasks are compared: the vendor writes FNF, FnF and fnf."""
    service, colon, name = action.partition(":")
    return service.lower() + colon + name
