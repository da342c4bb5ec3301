"""``s.yaml`` of Serverless Devs, editions 1.0.0 and 3.0.0 -> a blueprint.

Source: Serverless Devs, specification of the description file.
"""

import re
from collections.abc import Callable, Mapping

from emulator.deploy import devs_functions, devs_services
from emulator.deploy.building import Build
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import Blueprint, Tenant
from emulator.deploy.part import Part, suggestion
from emulator.deploy.variables import Variables, modules_in

_TOP = ("edition", "name", "access", "vars", "services", "resources", "actions", "flow", "env")
_MODULE = ("component", "props", "actions", "access")

Component = Callable[[Build, Part, Part], None]
"""Adds what a module stands for: the module, and its properties with their variables replaced."""


def read_project(root: Part, tenant: Tenant, files: Files, environ: Mapping[str, str]) -> Blueprint:
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
    scope = Scope(tenant, {}, {}, root.member("conditions").with_value({}))
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
    "fc": devs_functions.fc,
    "fc3": devs_functions.fc3,
    "fc3-domain": devs_functions.fc3_domain,
    "fc3-layer": devs_functions.fc3_layer,
    "fnf": devs_services.flow,
    "cloudflow": devs_services.flow,
    "mns": devs_services.messages,
    "mns-queue": devs_services.queue,
    "mns-topic": devs_services.topic,
}
