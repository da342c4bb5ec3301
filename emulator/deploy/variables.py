"""The variables of ``s.yaml``: ``${vars.x}``, ``${env('X')}``, ``${this.props.x}``, ``${resources.m.output.y}`` ...

A text that is nothing but one variable becomes its value, of whatever type; within a text it is written out. What looks
like a variable and begins with none of the known words stays as it is: definitions and commands have theirs.

Source: Serverless Devs, specification of the description file, editions 1.0.0 and 3.0.0.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.deploy.functions import Scope
from emulator.deploy.part import Part

_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_CALL = re.compile(
    r"(env|config|file|path)\(\s*(?:'([^']*)'|\"([^\"]*)\"|([^,'\")]*))\s*(?:,\s*['\"]?([^'\")]*)['\"]?\s*)?\)"
)
_DEEPEST = 20


class Variables:
    """What variables stand for in a file; *modules* are its resources by name, *environ* the process's variables."""

    def __init__(self, root: Part, modules: Mapping[str, Part], scope: Scope, environ: Mapping[str, str]) -> None:
        self._root = root
        self._modules = modules
        self._scope = scope
        self._environ = environ

    def resolved(self, part: Part, this: str, depth: int = 0) -> Any:
        """Return a part's value with its variables replaced; *this* is the resource it belongs to."""
        value = part.value
        if isinstance(value, dict):
            return {entry.name: self.resolved(entry, this, depth) for entry in part.entries()}
        if isinstance(value, list):
            return [self.resolved(item, this, depth) for item in part.items()]
        if not isinstance(value, str) or "${" not in value:
            return value
        if depth > _DEEPEST:
            part.problem("its variables refer to each other too deeply")
            return None
        whole = _VARIABLE.fullmatch(value.strip())
        if whole is not None:
            return self._value(part, whole[1].strip(), whole[0], this, depth)

        def written(found: re.Match[str]) -> str:
            item = self._value(part, found[1].strip(), found[0], this, depth)
            return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)

        return _VARIABLE.sub(written, value)

    def _value(self, part: Part, name: str, as_written: str, this: str, depth: int) -> Any:
        call = _CALL.fullmatch(name)
        if call is not None:
            return self._called(part, call[1], call[2] or call[3] or call[4] or "", call[5])
        first, *path = name.split(".")
        if first == "vars":
            return self._walked(part, self._root.member("vars"), path, name, this, depth)
        if first == "this":
            return self._of_module(part, this, path, name, depth)
        if first in {"resources", "services"} and path:
            return self._of_module(part, path[0], path[1:], name, depth)
        if first in self._modules and path and path[0] in {"props", "output"}:
            return self._of_module(part, first, path, name, depth)
        return as_written

    def _called(self, part: Part, function: str, argument: str, default: str | None) -> Any:
        match function:
            case "env":
                found = self._environ.get(argument.strip(), default)
                if found is None:
                    part.problem(f"the environment variable {argument.strip()} is not set")
                return found
            case "config":
                tenant = self._scope.tenant
                known = {"accountid": tenant.account, "region": tenant.region}
                if argument.lower() not in known:
                    part.problem(f"config('{argument}') is not known here; AccountID is")
                return known.get(argument.lower())
            case _:
                part.problem(f"the function {function} of variables is not supported")
                return None

    def _of_module(self, part: Part, module: str, path: list[str], name: str, depth: int) -> Any:
        found = self._modules.get(module)
        if found is None:
            part.problem(f"${{{name}}}: there is no resource {module}")
            return None
        if path[:1] == ["name"] and len(path) == 1:
            return module
        if path[:1] == ["output"]:
            known = self._scope.attributes.get(module, {})
            attribute = ".".join(path[1:])
            if attribute in known:
                return known[attribute]
            path = ["props", *path[1:]]
        return self._walked(part, found, path, name, module, depth)

    def _walked(self, part: Part, start: Part, path: list[str], name: str, this: str, depth: int) -> Any:
        place = start
        for key in path:
            if isinstance(place.value, list) and key.isdigit() and int(key[:6]) < len(place.value):
                place = place.items()[int(key)]
            elif isinstance(place.value, dict) and key in place.value:
                place = place.member(key)
            else:
                part.problem(f"${{{name}}} leads nowhere")
                return None
        return self.resolved(place, this, depth + 1)


def modules_in(value: Any, modules: Mapping[str, Part]) -> set[str]:
    """Return the resources whose outputs a value refers to."""
    if isinstance(value, dict):
        return set().union(*(modules_in(item, modules) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(modules_in(item, modules) for item in value))
    if not isinstance(value, str):
        return set()
    found = set()
    for name in _VARIABLE.findall(value):
        first, *path = name.strip().split(".")
        module = path[0] if first in {"resources", "services"} and path else first
        if module in modules:
            found.add(module)
    return found
