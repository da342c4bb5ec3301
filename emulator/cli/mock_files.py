"""Files of mocks: a list in the HTTP API's form, or an object by task, as in files of test cases.

Every command accepts both forms.
"""

from collections.abc import Mapping
from typing import Any

_TARGETS = ("function", "step", "action")


def by_task(content: Any) -> Any:
    """Return mocks as an object by the name of a step, a function or an action; content of another form unchanged."""
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
    """Return mocks for tasks of *flow* as a list of bodies for ``POST mocks``."""
    if isinstance(content, list):
        return content
    if not isinstance(content, Mapping) or _target(content):
        return [content]
    return [{**_named(name, flow), **_script(mock)} for name, mock in content.items()]


def _target(mock: Mapping[str, Any]) -> str:
    """Return the member that names a mock's target, "" for none; an object by task may have a task of such a name."""
    return next((name for name in _TARGETS if isinstance(mock.get(name), str)), "")


def _named(name: str, flow: str) -> dict[str, str]:
    if ":" in name:
        return {"action": name}
    return {"function": name} if "/" in name else {"step": f"{flow}/{name}"}


def _script(mock: Any) -> dict[str, Any]:
    if isinstance(mock, Mapping) and mock.keys() & {"answers", "then"}:
        return dict(mock)
    return {"answers": mock if isinstance(mock, list) else [mock]}
