"""The arguments of admin operations: path, query and JSON body, checked against the declared parameters.

An error names the member that is refused, and operations need not expect such values: a text that no database and no
file name can hold (a lone surrogate), a number that is none (``NaN``, ``1e999``) or too large, a value of another kind,
members nested without end.
"""

import json
from binascii import a2b_base64
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

from emulator.gateway.errors import GatewayError
from emulator.kernel.digits import read_digits
from emulator.wire import large_json
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import Binary, Field, Flag, Json, Number, Text, Whole
from emulator.wire.schema.notation import Notation

_SHOWN = 80
"""Characters of a refused value, or of its place, that the answer repeats."""

_SWITCHES: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}

Reader = Callable[[Any, str], Any]
"""(value, name) -> the argument."""


def document_of(call: OperationRequest) -> dict[str, Any]:
    """Return the JSON body of a POST; without a body, of whatever type, no members.

    Raises: GatewayError (InvalidArgument, BodyTooLarge).
    """
    if call.document is not None:
        return cast("dict[str, Any]", call.document)
    if not call.http.body:
        return {}
    if not call.header("content-type").lower().startswith("application/json"):
        raise _invalid("the Content-Type must be application/json")
    try:
        document = large_json.loads(call.http.body)
    except large_json.TooMuchStructure:
        raise GatewayError("BodyTooLarge", limit=large_json.STRUCTURE_BYTES) from None
    except (ValueError, RecursionError):
        raise _invalid("the body is not JSON") from None
    if not isinstance(document, dict):
        raise _invalid("the body must be a JSON object")
    return document


def check_path(path: Mapping[str, str]) -> None:
    """Refuse path parameters that are not Unicode text.

    Raises: GatewayError (InvalidArgument).
    """
    for name, value in path.items():
        _check_content(name, value)


class BodyArguments(Notation[Reader]):
    """Arguments as members of the JSON body."""

    def text(self, kind: Text) -> Reader:
        """Read a text that can be stored in UTF-8."""
        return self._typed(str, "a text")

    def whole(self, kind: Whole) -> Reader:
        """Take a whole number in its range."""

        def read(value: Any, name: str) -> int:
            if type(value) is not int:
                raise _invalid(f"{name} must be a number")
            if not kind.allows(value):
                raise _invalid(f"{name} must be a number up to {kind.high}")
            return value

        return read

    def number(self, kind: Number) -> Reader:
        """Read a finite number."""
        check = self._typed(float, "a number")

        def read(value: Any, name: str) -> Any:
            try:
                return check(float(value) if type(value) is int else value, name)
            except OverflowError:
                raise _invalid(f"{name} is a number out of range") from None

        return read

    def flag(self, kind: Flag) -> Reader:
        """Read true or false."""
        return self._typed(bool, "true or false")

    def binary(self, kind: Binary) -> Reader:
        """Read bytes in base64."""

        def read(value: Any, name: str) -> bytes:
            if not isinstance(value, str):
                raise _invalid(f"{name} must be base64")
            try:
                return a2b_base64(value, strict_mode=True)
            except ValueError:
                raise _invalid(f"{name} is not valid base64") from None

        return read

    def json(self, kind: Json) -> Reader:
        """Read an object or a list that can be stored as JSON in UTF-8."""
        return self._typed(list, "a list") if kind.only == "list" else self._typed(dict, "an object")

    def _typed(self, expected: type, words: str) -> Reader:
        def read(value: Any, name: str) -> Any:
            if type(value) is not expected:
                raise _invalid(f"{name} must be {words}")
            _check_content(name, value)
            return value

        return read


class QueryArguments(BodyArguments):
    """Arguments as items of the query, which are texts."""

    def whole(self, kind: Whole) -> Reader:
        """Read digits."""

        def read(text: Any, name: str) -> int:
            number = read_digits(text)
            if number is None or not kind.allows(number):
                raise _invalid(f"{name} must be a number up to {kind.high}, not {text[:_SHOWN]!r}")
            return number

        return read

    def flag(self, kind: Flag) -> Reader:
        """Read a word for true or false."""

        def read(text: Any, name: str) -> bool:
            if text.lower() not in _SWITCHES:
                raise _invalid(f"{name} must be true or false, not {text[:_SHOWN]!r}")
            return _SWITCHES[text.lower()]

        return read


_BODY, _QUERY = BodyArguments("body"), QueryArguments("query")


def arguments_of(
    parameters: Collection[Field], query: Mapping[str, str], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Read the parameters of an operation from the JSON body, else from the query.

    Raises: GatewayError (InvalidArgument), also for a member of the body that is none of them.
    """
    known = [parameter.name for parameter in parameters]
    if unknown := [name for name in document if name not in known]:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise _invalid(f"the body has no member {ascii(unknown[0])[:_SHOWN]}; {has}")
    arguments = {}
    for parameter in parameters:
        name = parameter.name
        value = document.get(name)
        if value is not None:
            arguments[name] = _BODY.reader(parameter.kind)(value, name)
        elif name in query:
            arguments[name] = _QUERY.reader(parameter.kind)(query[name], name)
        elif not parameter.required:
            arguments[name] = parameter.default
        else:
            raise _invalid(f"{name} is missing")
    return arguments


def _check_content(name: str, value: Any) -> None:
    """Refuse a value that cannot be written as JSON in UTF-8, by the name of the member where it cannot."""
    if type(value) is int or type(value) is bool:
        return
    try:
        if type(value) is str:
            value.encode()
        else:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise _invalid(f"{name} is nested too deeply") from None
    except ValueError:
        try:
            place, reason = next(_faults(name, value))
        except RecursionError:
            place, reason = name, "is nested too deeply"
        raise _invalid(f"{place[:_SHOWN]} {reason}") from None


def _faults(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the places below *name* that cannot be written, each with the reason."""
    if isinstance(value, dict):
        for key, each in value.items():
            place = f"{name}.{ascii(key)[1:-1]}"
            if not _is_text(key):
                yield place, "has a name that is not valid text: it contains half of a surrogate pair"
            yield from _faults(place, each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _faults(f"{name}[{number}]", each)
    elif isinstance(value, str) and not _is_text(value):
        yield name, "is not valid text: it contains half of a surrogate pair"
    elif isinstance(value, float) and value - value != 0:
        yield name, "is a number out of range"


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(reason: str) -> GatewayError:
    return GatewayError("InvalidArgument", reason)
