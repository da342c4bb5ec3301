"""Calls that nobody meant: parameters missing, of the wrong type, extreme, or too many; bodies that are none."""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from tests.operations import samples
from tests.operations.recording import MARK, Operation

TEXTS = [
    "", " ", "\0", "\x01\x1f\x7f", "a\r\nX-Injected: 1", "漢字é😀", "\udcff", "\u202e\ufeff", "../../../etc/passwd",
    "%00%2e%2e", "a/b", "LATEST", "*", "-1",
    "1e309", "NaN", "true", "null", "'; DROP TABLE queues; --", "${x}", "{{7*7}}", "[", '{"a":', "[[[[", "[]", "{}",
    '{"a":1}', "acs:::", "http://",
    "http://127.0.0.1:9/", "@every 1s", "0 0 0 31 2 ?", "2024-13-45T99:99:99Z", "9" * 5000, "x" * 300, "x" * 70_000,
    "😀" * 2_000,
]  # fmt: skip
NUMBERS = [-1, 0, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, True, False]
PATH_TEXTS = ["x" * 300, "%00", "%ff", "a%2Fb", "..", "%2e%2e", "a b", "é", "-", "a.b", "LATEST", "%25", "1", "x"]
SHAPES: list[Callable[[], Any]] = [
    lambda: None, list, dict, lambda: [None], lambda: {"": ""}, lambda: ["x"] * 1_000,
    lambda: {f"k{n}": n for n in range(1_000)},
    lambda: _nested(40), lambda: _nested(400),
]  # fmt: skip
BODIES = [
    b"", b"null", b"[]", b'"text"', b"1", b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"a": 1e99999}', b'{"a": NaN}',
    b'{"a": ' + b"9" * 5_000 + b"}", b'{"a": 1, "a": 2}', b'{"\\ud800": "\\udfff"}', b"<a/>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", b"a=b&a=c&%zz",
    b'<a xmlns:x="' + b"u" * 30_000 + b'"><x:b/></a>', b"\0" * 1_000,
]  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def as_meant(operation: Operation) -> Operation:
    """Return *operation* with the names of things that are there."""
    return _renamed(operation, lambda name: samples.text(name) if samples.text(name) != "text" else name)


def variations(operation: Operation, base: Operation, count: int, chance: random.Random) -> Iterator[Operation]:
    """Yield the operation without any parameter, and *count* times with something wrong.

    *base* is a form of it that is likely to be accepted; half of the damaged calls begin there.
    """
    yield as_meant(operation)._replace(query={}, body=None if operation.kind != "xml" else b"", headers={})
    for _ in range(count):
        changed = copy.deepcopy(base if chance.random() < 0.5 else as_meant(operation))
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            changed = chance.choice(_DEEDS)(changed, operation, chance)
        yield _freshly_named(changed, chance) if chance.random() < 0.3 else changed


def attempts(operation: Operation, count: int, chance: random.Random) -> Iterator[Operation]:
    """Yield the operation as it is meant, and *count* times with few of its parameters: one of them may be accepted."""
    yield as_meant(operation)
    for _ in range(count):
        call = _thinned(copy.deepcopy(as_meant(operation)), chance)
        yield _freshly_named(call, chance) if chance.random() < 0.7 else call


def _freshly_named(operation: Operation, chance: random.Random) -> Operation:
    """Give what is made a name of its own, so that it is not refused for being there already."""
    for part in (operation.body, operation.query):
        if isinstance(part, dict):
            own = [key for key in part if key.lower().endswith("name") and isinstance(part[key], str)]
            if own:
                key = chance.choice(own)
                part[key] = f"{part[key][:20]}{chance.randrange(10**6)}"
    return operation


def _renamed(operation: Operation, choose: Callable[[str], str]) -> Operation:
    def put(value: Any) -> Any:
        if isinstance(value, str):
            return MARK.sub(lambda found: choose(found[1]), value)
        if isinstance(value, dict):
            return {key: put(item) for key, item in value.items()}
        return [put(item) for item in value] if isinstance(value, list) else value

    return operation._replace(
        path=put(operation.path), query=put(operation.query), body=put(operation.body), headers=put(operation.headers)
    )


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value below *value*."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((value, key))
        found.extend(_places(item))
    return found


_KEPT = (
    "name",
    "definition",
    "type",
    "runtime",
    "handler",
    "triggerconfig",
    "routeconfig",
    "code",
    "zipfile",
    "body",
    "endpoint",
    "cronexpression",
)


def _thinned(operation: Operation, chance: random.Random) -> Operation:
    """Leave most optional things out, so that what is left is not refused for something else."""
    share = chance.choice([0.0, 0.0, 0.1, 0.4])
    for container, key in [*_places(operation.query), *_places(operation.body)]:
        needed = key.lower().endswith(_KEPT) and not key.startswith("oss") if isinstance(key, str) else True
        if isinstance(container, dict) and not needed and chance.random() > share:
            container.pop(key, None)
    return operation


def _hostile(chance: random.Random) -> Any:
    draw = chance.random()
    if draw < 0.5:
        return chance.choice(TEXTS)
    return chance.choice(NUMBERS) if draw < 0.75 else chance.choice(SHAPES)()


def _spoil_value(operation: Operation, _: Operation, chance: random.Random) -> Operation:
    places = _places(operation.body) + _places(operation.query)
    if operation.kind == "xml" and operation.body:
        return _spoil_xml(operation, chance)
    if places:
        container, key = chance.choice(places)
        container[key] = _hostile(chance)
    return operation


def _spoil_xml(operation: Operation, chance: random.Random) -> Operation:
    body = operation.body.decode("utf-8", "replace")
    leaves = list(re.finditer(r"<(\w+)>([^<]*)</\1>", body))
    if not leaves:
        return operation
    leaf = chance.choice(leaves)
    text = (
        chance.choice([*TEXTS, str(chance.choice(NUMBERS))])
        .replace("\0", "")
        .replace("&", "&amp;")
        .replace("<", "&lt;")
    )
    new = chance.choice(
        [
            f"<{leaf[1]}>{text}</{leaf[1]}>",
            "",
            leaf[0] * 20,
            f"<{leaf[1]}><Inner>{text}</Inner></{leaf[1]}>",
            f"<X>{text}</X>",
        ]
    )
    return operation._replace(body=(body[: leaf.start()] + new + body[leaf.end() :]).encode("utf-8", "replace"))


def _drop(operation: Operation, _: Operation, chance: random.Random) -> Operation:
    places = _places(operation.body) + _places(operation.query)
    if places:
        container, key = chance.choice(places)
        del container[key]
    return operation


def _add(operation: Operation, _: Operation, chance: random.Random) -> Operation:
    part = operation.body if isinstance(operation.body, dict) and chance.random() < 0.6 else operation.query
    part[chance.choice(["Extra", "", "functionName", "$", "a.1.b", "Tag.1.Key", "x" * 200, "é"])] = _hostile(chance)
    return operation


def _rename(operation: Operation, template: Operation, chance: random.Random) -> Operation:
    path = MARK.sub(
        lambda found: chance.choice(PATH_TEXTS) if chance.random() < 0.6 else samples.text(found[1]), template.path
    )
    return operation._replace(path=path)


def _whole_body(operation: Operation, _: Operation, chance: random.Random) -> Operation:
    return operation._replace(body=chance.choice(BODIES))


def _headers(operation: Operation, _: Operation, chance: random.Random) -> Operation:
    name = chance.choice(
        [
            "X-Fc-Invocation-Type", "X-Fc-Log-Type", "X-Fc-Stateful-Async-Invocation-Id", "X-Fc-Async-Delay",
            "If-Match", "Content-Type",
            "X-Fc-Account-Id", "x-mns-prefix", "x-mns-marker", "x-mns-ret-number", "x-mns-with-meta",
            "X-Fc-Trace-Id", "X-Fc-Code-Checksum", "Content-MD5", "x-mns-version", "Accept", "x-acs-version",
            "x-acs-action", "X-Fc-Qualifier",
        ]
    )  # fmt: skip
    value = chance.choice(
        [
            "",
            "Async",
            "Tail",
            "-1",
            "9" * 400,
            "é",
            "\udcff",
            "text/xml",
            "application/json",
            "x" * 3_000,
            "1.5",
            "None",
        ]
    )
    return operation._replace(headers={**operation.headers, name: value})


_DEEDS = [_spoil_value, _spoil_value, _spoil_value, _spoil_value, _drop, _add, _rename, _whole_body, _headers]


def wire(operation: Operation) -> tuple[str, dict[str, str], bytes, str]:
    """Return (target, headers, body, content type) of *operation*, unsigned."""
    query = "&".join(f"{_escaped(key)}={_escaped(value)}" for key, value in operation.query.items())
    path = (
        quote(unquote(operation.path), safe="/-_.~$")
        if "%" not in operation.path
        else quote(operation.path, safe="/%-_.~$")
    )
    body, kind = operation.body, operation.kind
    if body is None:
        data = b""
    elif isinstance(body, bytes):
        data = body
    elif kind == "form" and isinstance(body, dict):
        data = "&".join(f"{_escaped(key)}={_escaped(value)}" for key, value in body.items()).encode()
    else:
        data = json.dumps(body).encode("utf-8", "replace")
    types = {"form": "application/x-www-form-urlencoded", "xml": "text/xml", "json": "application/json"}
    target = path + (f"?{query}" if query else "")
    return target, dict(operation.headers), data, types.get(kind, "application/octet-stream")


def _escaped(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogateescape"), safe="")
