"""The reference of the test kit, `emulator.testing`: each class with its public members, from their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from tools.cells import markdown
from tools.chinese import Say, english

KIT = {
    "Localyun": "localyun",
    "Api": "localyun.api",
    "Clock": "localyun.clock",
    "Queue": "localyun.queue(...)",
    "Message": "queue.receive()",
    "Topic": "localyun.topic(...)",
    "Flow": "localyun.flow(...)",
    "Execution": "flow.start(...)",
    "Usage": "localyun.usage()",
    "InvokeResult": "localyun.invoke(...)",
    "Call": "localyun.calls(...)",
    "Mock": "localyun.mock(...)",
    "Sink": "localyun.sink(...)",
    "ReceivedRequest": "sink.requests",
    "Faults": "localyun.faults",
    "Checkpoint": "localyun.checkpoint(...)",
    "Emulator": "Emulator(...)",
}
"""The classes of the test kit, each with the expression by which a test gets one."""

_BUILT_IN = {"__len__": "len", "__iter__": "iter"}
"""Special methods, with the function of Python that calls them."""


def kit(say: Say = english) -> str:
    """Return the reference of `emulator.testing`: each class with its public members."""
    from emulator import testing

    colon = ": " if say is english else "\uff1a"
    sections = []
    for name, origin in KIT.items():
        kind = getattr(testing, name)
        about = markdown(say(" ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())))
        members = "".join(f"- `{shown}`{colon}{markdown(say(told))}\n" for shown, told in _members(kind))
        sections.append(f"## {name}\n\n`{origin}`{colon}{about}\n\n{members}")
    return "\n" + "\n".join(sections) + "\n"


def _members(kind: type) -> Iterator[tuple[str, str]]:
    if kind.__name__ == "Emulator":  # the one class of these that a test makes itself
        yield f"Emulator{_signature(kind)}", "the process, not yet started."
    if public := {name: _type(each) for name, each in inspect.get_annotations(kind).items() if name[0] != "_"}:
        yield ", ".join(f"{name}: {each}" for name, each in public.items()), "fields."
    for name, member in vars(kind).items():
        told = (inspect.getdoc(member) or "").partition("\n")[0]
        if name in _BUILT_IN:
            yield f"{_BUILT_IN[name]}({kind.__name__.lower()})", told
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            yield f"{name}{_signature(member)}", told
        elif isinstance(member, property):
            yield f"{name}: {_type(inspect.signature(member.fget).return_annotation)}", told  # type: ignore[arg-type]
        elif isinstance(member, cached_property):
            yield name, told


def _signature(member: Any) -> str:
    """Return the signature for a test's author: without ``self`` and the quotes of annotations."""
    whole = inspect.signature(member)
    own = [each for each in whole.parameters.values() if each.name != "self"]
    text = str(whole.replace(parameters=own)).removesuffix(" -> None")
    unquoted = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return _type(re.sub(r"= '([^']*)'", r'= "\1"', unquoted))


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", text)  # Python 3.13 has Path in pathlib._local
    return text.replace("str | float | timedelta", "Duration")
