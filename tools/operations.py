"""Tables of operations: name, API versions, whether it is served, summary, and source.

The summary is the first line of the operation's docstring; the source follows ``Source:`` in it, clause by clause. A
clause that names a page of the API reference is shown without the operation's own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from emulator.kernel.ids import CountingIds
from emulator.wire.operation import Operation, operations_of
from tools.cells import markdown, table
from tools.chinese import Say, chinese, english, punctuated

_SOURCE = re.compile(r"Source: (.*?)(?:\n\s*\n|\Z)", re.DOTALL)

_CLIENTS = {
    "2016-08-15": "aliyun-fc2 `client.py`",
    "2021-04-06": "alibabacloud_fc_open20210406",
    "2023-03-30": "alibabacloud_fc20230330",
}
"""The client whose requests and models document an API version of Function Compute."""

_VARIANTS = {"ListObjects": "ListObjectsV2", "PutObject": "CopyObject", "UploadPart": "UploadPartCopy"}
"""Operations in the reference of OSS that a header or a parameter distinguishes from others."""

_REFERENCE = "API reference"
_PROSE = re.compile(r": |[a-z]{2} [a-z]{2,} [a-z]{2}|assumed|reference|^page|decoders")
"""Marks of clauses with more than names, which are translated."""

_HEAD = ("operation", "status", "what it does", "known from")
_HEAD_ZH = ("操作", "状态", "作用", "依据")


def functions(say: Say = english) -> str:
    """Return the table of Function Compute."""
    from emulator.services.fc.front import ROUTES

    rows: dict[str, tuple[list[str], Operation]] = {}
    for version, routes in ROUTES.items():
        for each in routes:
            versions, _ = rows.setdefault(each.name, ([], each))
            if version not in versions:
                versions.append(version)
    name, *others = _HEAD if say is english else _HEAD_ZH
    return table(
        (name, "APIs" if say is english else "API 版本", *others),
        (
            (f"`{name}`", ", ".join(versions), *_about(each, ", ".join(_CLIENTS[each] for each in versions), say))
            for name, (versions, each) in rows.items()
        ),
    )


def _rows(find: Callable[[], Iterable[Operation]], client: str, say: Say) -> str:
    """Return the table of a service with one API."""
    rows = {
        name: _about(each, client, say)
        for each in find()
        if "?" not in each.name
        for name in (each.name, _VARIANTS.get(each.name, each.name))
    }
    return table(_HEAD if say is english else _HEAD_ZH, ((f"`{name}`", *row) for name, row in rows.items()))


def _about(each: Operation, client: str, say: Say) -> tuple[str, str, str]:
    told = _SOURCE.search(each.perform.__doc__ or "")
    source = " ".join(told[1].split()).rstrip(".") if told else f"{_REFERENCE}; {client}"
    status = "refused" if each.summary.startswith("Refuse") else "served"
    clauses = "; ".join(_said(_short(clause, each.name), say) for clause in source.split("; "))
    known = clauses if say is english else punctuated(clauses)
    return say(status), markdown(say(each.summary)), markdown(known)


def _short(clause: str, name: str) -> str:
    """Return a clause without what its row shows anyway: the operation's *name*, and the service of the reference."""
    clause = re.sub(r"(?:OSS|RAM|Serverless Workflow) (?=API reference)", "", clause)
    words = [word for word in clause.split(", ") if word != name]
    if _REFERENCE not in clause and clause.startswith(name):  # names a page of the reference by its title only
        return clause.replace(name, _REFERENCE, 1)
    return ", ".join(words)


def _said(clause: str, say: Say) -> str:
    """Return a clause translated; names of files, packages and pages stay."""
    head, comma, names = clause.partition(", ")
    if head == _REFERENCE:
        return say(head) + comma + (names if say is english else re.sub(r", | and ", "、", names))
    return say(clause) if _PROSE.search(clause) else clause


def _flows() -> Iterable[Operation]:
    from emulator.services.workflow.front import WorkflowFront

    return WorkflowFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _roles() -> Iterable[Operation]:
    from emulator.services.ram.front import RamFront

    return RamFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _tokens() -> Iterable[Operation]:
    from emulator.services.sts.front import StsFront

    return StsFront(None, CountingIds()).operations  # type: ignore[arg-type]  # only the declarations are read


def _messages() -> Iterable[Operation]:
    from emulator.services.mns.front import ROUTES

    return ROUTES


def _management() -> Iterable[Operation]:
    from emulator.services.mns.operations import management, settings

    return operations_of(management, settings)


def _objects() -> Iterable[Operation]:
    from emulator.oss import buckets, objects, uploads

    return operations_of(buckets, objects, uploads)


SERVICES: dict[str, tuple[Callable[[], Iterable[Operation]], str]] = {
    "Object storage": (_objects, "oss2, ali-oss"),
    "Serverless Workflow": (_flows, "aliyun-python-sdk-fnf, alibabacloud_fnf20190315"),
    "Security Token Service": (_tokens, "alibabacloud_sts20150401"),
    "Resource Access Management": (_roles, "alibabacloud_ram20150501"),
    "Message Service": (_messages, "aliyun-mns-sdk"),
    "Message management": (_management, "alibabacloud_mns_open20220119"),
}
"""Services with one API: their operations, and the client that shows requests where no source is named."""


def tables(say: Say = english) -> dict[str, Callable[[], str]]:
    """Return the functions that render the table of each service, by the service's name."""
    rendered: dict[str, Callable[[], str]] = {"Function Compute": lambda: functions(say)}
    for service, (find, client) in SERVICES.items():
        rendered[service] = lambda find=find, client=client: _rows(find, client, say)  # type: ignore[misc]
    return rendered


TABLES = {
    f"operations: {prefix}{service}": render
    for prefix, say in (("", english), ("zh ", chinese))
    for service, render in tables(say).items()
}
