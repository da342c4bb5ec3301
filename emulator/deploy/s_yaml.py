"""``s.yaml`` of Serverless Devs, editions 1.0.0 and 3.0.0 -> a blueprint.

Source: Serverless Devs, specification of the description file.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import s_components
from emulator.deploy.build import Build
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import Blueprint, Target
from emulator.deploy.shapes import Part, suggestion

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
                target = self._scope.target
                known = {"accountid": target.account, "region": target.region}
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


_TOP = ("edition", "name", "access", "vars", "services", "resources", "actions", "flow", "env")
_MODULE = ("component", "props", "actions", "access")

Component = Callable[[Build, Part, Part], None]
"""Adds what a module stands for: the module, and its properties with their variables replaced."""


def read_project(root: Part, target: Target, files: Files, environ: Mapping[str, str]) -> Blueprint:
    """Return what an ``s.yaml`` says.

    Raises: FileProblems.
    """
    for entry in root.entries():
        if entry.name not in _TOP:
            entry.problem(f"there is no such section{suggestion(entry.name, list(_TOP))}")
    section = root.member("resources" if root.member("resources").value is not None else "services")
    modules = {part.name: part for part in section.entries()}
    if not modules:
        section.problem("there are no resources")
    _note_actions(root)
    root.findings.check()
    scope = Scope(target, {}, {}, root.member("conditions").with_value({}))
    build = Build(scope=scope, files=files, findings=root.findings)
    variables = Variables(root, modules, scope, environ)
    for part in _in_order(modules):
        _add(build, part, variables)
    root.findings.check()
    return Blueprint(resources=tuple(build.resources), outputs={})


def _note_actions(place: Part) -> None:
    for entry in place.member("actions").entries():
        entry.note("actions are not run here")


def _in_order(modules: Mapping[str, Part]) -> list[Part]:
    ordered: dict[str, Part] = {}
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        if name in under_way:
            modules[name].problem(f"refers to itself: {' -> '.join([*under_way[under_way.index(name) :], name])}")
            return
        under_way.append(name)
        for needed in modules:
            if needed != name and needed in modules_in(modules[name].value, modules):
                visit(needed)
        under_way.pop()
        ordered[name] = modules[name]

    for name in modules:
        visit(name)
    return list(ordered.values())


def _add(build: Build, part: Part, variables: Variables) -> None:
    for entry in part.entries():
        if entry.name not in _MODULE:
            entry.problem(f"there is no such part of a resource{suggestion(entry.name, list(_MODULE))}")
    _note_actions(part)
    name = part.member("component").text()
    if not name:
        return
    component = COMPONENTS.get(component_of(name))
    if component is None:
        known = list(COMPONENTS)
        part.member("component").problem(f"the component {name} is not known{suggestion(component_of(name), known)}")
        return
    props = part.member("props")
    props = props.with_value(variables.resolved(props, part.name))
    region = props.member("region")
    if isinstance(region.value, str) and region.value not in {"", build.region}:
        region.note(f"the emulator is in {build.region}; everything is made there")
    component(build, part, props)


def component_of(name: str) -> str:
    """Return the bare name of a component: without its author and version."""
    return re.sub(r"@.*", "", name).rpartition("/")[2]


COMPONENTS: Mapping[str, Component] = {
    "fc": s_components.fc,
    "fc3": s_components.fc3,
    "fc3-domain": s_components.fc3_domain,
    "fc3-layer": s_components.fc3_layer,
    "fnf": s_components.flow,
    "cloudflow": s_components.flow,
    "mns": s_components.messages,
    "mns-queue": s_components.queue,
    "mns-topic": s_components.topic,
}
