"""Files of mocks for a command: a list, as the HTTP API takes mocks, or an object of tasks, as in a file of test cases.

Every command that takes one of the forms takes the other.
"""

from collections.abc import Mapping
from typing import Any

_TARGETS = ("function", "step", "action")


def by_task(content: Any) -> Any:
    """Return mocks by what each is for: the name of a step, a function or an action; other content as it is."""
    if isinstance(content, Mapping) and _target(content):
        content = [content]
    if not isinstance(content, list) or not all(isinstance(each, Mapping) and _target(each) for each in content):
        return content
    return {
        str(each[_target(each)]).rpartition("/" if _target(each) == "step" else "\0")[2]: {
            name: value for name, value in each.items() if name not in _TARGETS
        }
        for each in content
    }


def requests(content: Any, flow: str) -> list[Any]:
    """Return mocks for tasks of *flow* as ``POST mocks`` takes them."""
    if isinstance(content, list):
        return content
    if not isinstance(content, Mapping) or _target(content):
        return [content]
    return [{**_named(name, flow), **_script(mock)} for name, mock in content.items()]


def _target(mock: Mapping[str, Any]) -> str:
    """Return which member says what a mock is for; an object of tasks may have a task of that name, with an object."""
    return next((name for name in _TARGETS if isinstance(mock.get(name), str)), "")


def _named(name: str, flow: str) -> dict[str, str]:
    if ":" in name:
        return {"action": name}
    return {"function": name} if "/" in name else {"step": f"{flow}/{name}"}


def _script(mock: Any) -> dict[str, Any]:
    if isinstance(mock, Mapping) and mock.keys() & {"answers", "then"}:
        return dict(mock)
    return {"answers": mock if isinstance(mock, list) else [mock]}
