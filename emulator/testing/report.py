"""What the emulator did during a test, for the report of one that failed.

The requests in order, each with what it caused; what functions wrote; the executions as trees. Only what is new since
the test began, and of very much only the end.
"""

import re
from typing import Any

from emulator.testing.kit import Localyun

_LINES = 300
_TREES = 10


def story(kit: Localyun) -> str:
    """Return the text; when the emulator does not tell, that it does not."""
    try:
        lines: list[dict[str, Any]] = kit.api.admin("GET", "report")["lines"]
    except Exception as error:  # a report must not hide the failure it is about
        return f"the emulator does not answer: {error}"
    parts = [_waiting(kit), _requests(lines), _output(lines), *_trees(kit, lines)]
    text = "\n\n".join(part for part in parts if part) or "nothing was asked of the emulator"
    kept = text.splitlines()
    return text if len(kept) <= _LINES else "\n".join(["...", *kept[-_LINES:]])


def _waiting(kit: Localyun) -> str:
    waiting = kit.api.admin("GET", "status").get("waiting", [])
    return "\n".join(["triggers that wait", *waiting]) if waiting else ""


def _requests(lines: list[dict[str, Any]]) -> str:
    asked = {line["request"]: line for line in lines if "operation" in line}
    effects: dict[str, list[dict[str, Any]]] = {}
    others = []
    for line in lines:
        if "operation" in line or line["logger"] == "function":
            continue
        cause = next((name for name in (line.get("trace"), line.get("cause")) if name in asked), None)
        if cause is None:
            others.append(line)
        else:
            effects.setdefault(cause, []).append(line)
    shown = []
    for request, line in asked.items():
        shown.append(f"{_time(line)}  {line['service']} {line['operation']}  {line['status']}  {request}")
        shown += [f"    {_time(each)}  {each['message']}" for each in effects.get(request, ())]
    shown += [f"{_time(each)}  {each['message']}" for each in others]
    return "\n".join(["requests and what they caused", *shown]) if shown else ""


def _output(lines: list[dict[str, Any]]) -> str:
    shown = []
    for line in lines:
        if line["logger"] == "function":
            shown += [f"{line['function']}  {text}" for text in line["message"].splitlines()]
    return "\n".join(["function logs", *shown]) if shown else ""


def _trees(kit: Localyun, lines: list[dict[str, Any]]) -> list[str]:
    executions = dict.fromkeys(
        (line["flow"], line["execution"]) for line in lines if line.get("flow") and line.get("execution")
    )
    trees = []
    for flow, execution in list(executions)[-_TREES:]:
        try:
            tree = kit.command("flow", "history", flow, execution)
        except Exception as error:  # deleted by the test, perhaps
            tree = str(error)
        trees.append(f"execution {flow}/{execution}\n{tree.rstrip()}")
    return trees


def _time(line: dict[str, Any]) -> str:
    return re.sub(r"^.*T|Z$", "", str(line["time"]))
