"""Comparing two answers to one request: their differences, and which of their values correspond.

Ids, receipt handles, tokens, times and hosts always differ: those of the recording are mapped to the emulator's in the
same place, and later requests are sent with the latter.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import quote

from emulator.cli.comparison.recordings import Message
from emulator.kernel.frozen import frozen
from emulator.wire.xml import Element, MalformedXml, parse

Kind = Literal["status", "header", "code", "member", "type", "order", "length", "value", "body"]

READ_HEADERS: Final = frozenset(
    {
        "content-type", "location", "etag", "x-fc-error-type", "x-fc-invocation-code-version", "x-fc-log-result",
        "x-fc-request-id", "x-fc-code-checksum", "x-mns-request-id", "x-mns-version", "x-acs-request-id",
    }
)  # fmt: skip
"""Headers that official SDKs read."""

_EXACT: Final = frozenset({"x-fc-error-type", "x-mns-version"})

_OWN_VALUE: Final = re.compile(
    r"(?:id|ids|token|handle|etag|checksum|md5|uuid|nonce|secret|arn|url|host|hostid|endpoint|uri|logresult|revision"
    r"|domain|location|nextmarker|marker|key)$"
)
"""Suffixes of names whose values belong to an installation."""

_TIMES: Final = re.compile(r"(?:time|date|at|expiration|timestamp|enqueue|visible|dequeue|expires)$")
_SAID: Final = re.compile(r"(?:message|detail|cause|errormessage|description|recommend)$")
"""Suffixes of names of texts for people, which are not compared."""

_PLAIN: Final = "=/:"
"""Characters that clients do not escape in URLs."""

_ISO: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_SHORTEST: Final = 6
"""The shortest value that is mapped; shorter ones would be found inside of others."""


@frozen
class Difference:
    """A difference: its kind, its place, and the two values, shortened."""

    kind: Kind
    place: str
    recorded: str
    here: str


class Counterparts(dict[str, str]):
    """The emulator's values by the recorded values they correspond to."""

    def learn(self, recorded: str, here: str) -> None:
        """Record that two values, found in the same place, correspond."""
        if recorded != here and len(recorded) >= _SHORTEST and len(here) >= 1:
            self.setdefault(recorded, here)

    def learn_account(self, host: str, account: str) -> None:
        """Record the account in a recorded host name, such as ``123.mns.cn-hangzhou.aliyuncs.com``."""
        first = host.partition(".")[0]
        if first.isdigit():
            self.learn(first, account)

    def applied(self, text: str, *, encoded: bool = False) -> str:
        """Return *text* with the emulator's values for recorded ones; *encoded*: in a URL or form, with escapes."""
        table: Mapping[str, str] = self
        if encoded:
            table = {
                form: quote(here, safe=_PLAIN)
                for known, here in self.items()
                for form in (known, quote(known, safe=""))
            }
        if not table:
            return text
        longest_first = sorted(table, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, longest_first)), lambda found: table[found[0]], text)


def differences(
    recorded: tuple[int, Message], here: tuple[int, Message], mapping: Counterparts
) -> Iterator[Difference]:
    """Yield the differences of two answers, and learn which of their values correspond."""
    if recorded[0] != here[0]:
        yield Difference(kind="status", place="status", recorded=str(recorded[0]), here=str(here[0]))
    yield from _headers(recorded[1], here[1], mapping)
    if not recorded[1].lacks:
        yield from _values("", content_of(recorded[1]), content_of(here[1]), mapping)


def _headers(recorded: Message, here: Message, mapping: Counterparts) -> Iterator[Difference]:
    for name in sorted(READ_HEADERS):
        theirs, ours = recorded.header(name), here.header(name)
        if name == "content-type":
            theirs, ours = _media_type(theirs), _media_type(ours)
        if bool(theirs) != bool(ours):
            yield Difference(kind="header", place=name, recorded=theirs or "absent", here=ours or "absent")
        elif theirs != ours and (name in _EXACT or name == "content-type"):
            yield Difference(kind="header", place=name, recorded=theirs, here=ours)
        elif theirs:
            mapping.learn(theirs, ours)


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def content_of(message: Message) -> Any:
    """Return the body as values if it is JSON or XML, else as text; None for an empty one."""
    text = message.body.strip()
    if not text:
        return None
    if text[:1] in b"{[":
        try:
            return json.loads(text)
        except ValueError:
            pass
    if text[:1] == b"<":
        try:
            root = parse(text)
        except MalformedXml:
            pass
        else:
            return {root.name: _of_element(root)}
    return text.decode("utf-8", "replace")


def _of_element(element: Element) -> Any:
    """Return an element's children by name, repeated ones as a list; or its text."""
    if not element.children:
        return element.text
    members: dict[str, Any] = {}
    for name in dict.fromkeys(child.name for child in element.children):
        values = [_of_element(child) for child in element.all(name)]
        members[name] = values if len(values) > 1 else values[0]
    return members


def _values(place: str, theirs: Any, ours: Any, mapping: Counterparts) -> Iterator[Difference]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        yield from _members(place, theirs, ours, mapping)
    elif isinstance(theirs, list) and isinstance(ours, list):
        yield from _items(place, theirs, ours, mapping)
    elif _type(theirs) != _type(ours):
        yield Difference(
            kind="type" if place else "body", place=place or "body", recorded=_short(theirs), here=_short(ours)
        )
    elif theirs != ours:
        yield from _scalars(place, theirs, ours, mapping)


def _members(
    place: str, theirs: Mapping[str, Any], ours: Mapping[str, Any], mapping: Counterparts
) -> Iterator[Difference]:
    renamed = {mapping.get(name, name): name for name in theirs}
    for name in sorted(renamed.keys() | ours.keys()):
        inner = f"{place}.{name}" if place else name
        if name not in ours:
            yield Difference(kind="member", place=inner, recorded=_short(theirs[renamed[name]]), here="absent")
        elif name not in renamed:
            yield Difference(kind="member", place=inner, recorded="absent", here=_short(ours[name]))
        else:
            yield from _values(inner, theirs[renamed[name]], ours[name], mapping)


def _items(place: str, theirs: list[Any], ours: list[Any], mapping: Counterparts) -> Iterator[Difference]:
    if len(theirs) != len(ours):
        yield Difference(kind="length", place=place, recorded=str(len(theirs)), here=str(len(ours)))
        return
    mapped = [mapping.applied(json.dumps(each, sort_keys=True)) for each in theirs]
    present = [json.dumps(each, sort_keys=True) for each in ours]
    if mapped != present and sorted(mapped) == sorted(present):
        yield Difference(kind="order", place=place, recorded=_short(theirs), here=_short(ours))
        return
    for number, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        yield from _values(f"{place}[{number}]", one, other, mapping)


def _scalars(place: str, theirs: Any, ours: Any, mapping: Counterparts) -> Iterator[Difference]:
    name = re.sub(r"\[\d+\]$", "", place.rpartition(".")[2]).lower()
    if name in {"code", "errorcode"}:
        yield Difference(kind="code", place=place, recorded=_short(theirs), here=_short(ours))
        return
    if isinstance(theirs, str):
        if mapping.applied(theirs) == ours or _SAID.search(name):
            return
        if _OWN_VALUE.search(name):
            mapping.learn(theirs, ours)
            return
        if _ISO.match(theirs) and _ISO.match(ours):
            return
    if _TIMES.search(name):
        return
    yield Difference(
        kind="value" if place else "body", place=place or "body", recorded=_short(theirs), here=_short(ours)
    )


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
