"""``s.yaml`` of Serverless Devs, editions 1.0.0 and 3.0.0 -> a blueprint.

Source: Serverless Devs, specification of the description file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from emulator.deploy.build import Build, in_order
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import Blueprint, FileProblems, Problem, Target
from emulator.deploy.placeholders import placeholder_problem
from emulator.deploy.places import Findings, LocatedValue, whole
from emulator.deploy.s_components import COMPONENTS, Component, component_of_props
from emulator.deploy.s_variables import Variables, modules_in
from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.wire.yaml import Mark

_TOP = ("edition", "name", "access", "extend", "template", "vars", "services", "resources", "actions", "flow", "env")
_MODULE = ("component", "props", "actions", "access", "extend")
_LONGEST_LINEAGE = 10


def extended(root: LocatedValue, files: Files) -> LocatedValue:
    """Return a file merged with the one it extends, and so on; maps are merged, other values replaced.

    A value from another file has the place of its enclosing part in this one.

    Source: Serverless Devs, "Yaml extend".
    """
    for _ in range(_LONGEST_LINEAGE):
        place = root.member("extend")
        if place.value is None:
            return root
        text = files.text(place)
        base = _base(place, text) if text is not None else {}
        own = {key: value for key, value in root.value.items() if key != "extend"}
        root = root.with_value(_merged(base if isinstance(base, dict) else {}, own))
    root.member("extend").problem(Phrase("more than {most} files extend each other", most=_LONGEST_LINEAGE))
    return root


def _base(place: LocatedValue, text: str) -> Any:
    """Return the value of an extended file's text; problems have their places in that file."""
    try:
        return whole(text, Findings()).value
    except FileProblems as error:
        for problem in error.problems:
            place.problem(Problem(problem.line, problem.column, "not valid YAML").within(place.value))
        return {}


def _merged(base: Any, own: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {key: _merged(base.get(key), own[key]) if key in own else base[key] for key in [*base, *own]}


ActionsRun = Literal["not", "later", "now"]
"""Whether the `actions` run: not at all, with the deployment that a plan is of, or for the blueprint to be read."""


def read_project(
    root: LocatedValue, target: Target, files: Files, environ: Mapping[str, str], *, actions_run: ActionsRun
) -> Blueprint:
    """Return the blueprint of an ``s.yaml``.

    Raises: FileProblems.
    """
    for entry in root.entries():
        if entry.name not in _TOP:
            near = suggestion(entry.name, list(_TOP))
            if isinstance(entry.value, (dict, list)) and not near:
                entry.note("there is no such section")  # it may hold YAML anchors for other parts
            else:
                entry.problem("there is no such section", near)
    for each in _texts(root):
        if unfilled := placeholder_problem(each.value, is_free=not _FREE.isdisjoint(each.path)):
            each.problem(unfilled)
    if not re.match(r"[013](\.|$)", str(root.value.get("edition") or "3")):
        root.member("edition").note("there is no such edition; there are 1.0.0 and 3.0.0")
    root.findings.check()
    modules = _modules(root)
    if not modules:
        section = (
            "resources" if "resources" in root.value or str(root.value.get("edition")).startswith("3") else "services"
        )
        root.member(section).problem("there are no resources")
    _note_actions(root)
    root.findings.check()
    scope = Scope(target, {}, {}, root.member("conditions").with_value({}))
    build = Build(scope=scope, files=files, findings=root.findings)
    variables = Variables(root, modules, scope, files, environ)
    commands = _commands_by_module(root, modules, variables)
    for action in () if actions_run == "now" else [action for each in commands.values() for action in each]:
        text = "not run: {command}; localyun deploy --run-actions runs it"
        if actions_run == "later":
            text = "not run, as this is a plan: {command}; the deployment runs it first"
        root.findings.notes.append(Problem(*action.mark, Phrase(text, command=str(action))))
    for part in in_order(modules, lambda part: modules_in(part.value, modules) - {part.name}):
        files.built_by = [action.command for action in (*commands[""], *commands[part.name])]
        _add(build, part, variables)
    root.findings.check()
    return Blueprint(resources=tuple(build.resources), outputs={})


_FREE = frozenset({"actions", "definition", "description", "environmentVariables", "event", "payload"})
"""Members whose texts may contain double braces that are not placeholders of a project template."""


def _texts(part: LocatedValue) -> Iterator[LocatedValue]:
    """Yield every text of a file except that of its ``access``, which has no effect."""
    if isinstance(part.value, (dict, list)):
        for each in part.entries() if isinstance(part.value, dict) else part.items():
            yield from _texts(each)
    elif isinstance(part.value, str) and part.path != ("access",):
        yield part


def _modules(root: LocatedValue) -> dict[str, LocatedValue]:
    """Return the resources by name, each merged with the template it extends."""
    section = root.member("resources" if root.member("resources").value is not None else "services")
    return {part.name: _with_template(root, part) for part in section.entries()}


def _with_template(root: LocatedValue, part: LocatedValue) -> LocatedValue:
    """Merge a resource's ``props`` over those of the template that it extends, without the ignored ones."""
    extend = part.member("extend")
    if extend.value is None:
        return part
    name = extend.value if isinstance(extend.value, str) else extend.member("name").text()
    templates = root.member("template")
    template = templates.member(name).value
    if not isinstance(template, dict):
        extend.problem(
            Phrase("there is no template {name}", name=name),
            suggestion(name, [each.name for each in templates.entries()]),
        )
        return part
    ignored = extend.member("ignore").value or []
    base = {key: value for key, value in template.items() if key not in ignored}
    return part.with_value({**part.value, "props": _merged(base, part.value.get("props") or {})})


_BEFORE = re.compile(r"(?:pre-)?(?:deploy|build)|pre-\$\{regex\(['\"](.*)['\"]\)\}")


@frozen
class ActionCommand:
    """A command to run before a deployment; ``folder`` is relative to that of the file."""

    command: str
    folder: str
    mark: Mark

    def __str__(self) -> str:
        """The command and its folder, for people."""
        return self.command if self.folder in {".", "./"} else f"{self.command} (in {self.folder})"


def commands_before(
    root: LocatedValue, target: Target, files: Files, environ: Mapping[str, str]
) -> list[ActionCommand]:
    """Return the commands of the file that belong before a deployment, those of the whole project first."""
    modules = _modules(root)
    variables = Variables(
        root, modules, Scope(target, {}, {}, root.member("conditions").with_value({})), files, environ
    )
    return [action for actions in _commands_by_module(root, modules, variables).values() for action in actions]


def _commands_by_module(
    root: LocatedValue, modules: Mapping[str, LocatedValue], variables: Variables
) -> dict[str, list[ActionCommand]]:
    return {name: _commands(part, variables, name) for name, part in {"": root, **modules}.items()}


def _commands(place: LocatedValue, variables: Variables, module: str) -> list[ActionCommand]:
    commands = []
    for occasion in place.member("actions").entries():
        for item in occasion.items() if _is_before(occasion.name) else []:
            if not isinstance(item.member("run").value, str):
                continue
            command = variables.resolved(item.member("run"), module)
            folder = variables.resolved(item.member("path"), module)
            if isinstance(command, str):
                commands.append(ActionCommand(command=command, folder=str(folder or "."), mark=item.mark))
    return commands


def _is_before(occasion: str) -> bool:
    match = _BEFORE.fullmatch(occasion)
    if match is None or match[1] is None:
        return match is not None
    try:
        return any(re.fullmatch(match[1], word) for word in ("deploy", "build"))
    except (re.error, RecursionError, OverflowError):
        return False


def _note_actions(place: LocatedValue) -> None:
    """Note the actions that are never run: components, plugins, and actions for later occasions."""
    for occasion in place.member("actions").entries():
        items = occasion.value if isinstance(occasion.value, list) else []
        if not _is_before(occasion.name) or any(not isinstance(item, dict) or "run" not in item for item in items):
            occasion.note("only commands before a deployment can be run here")


def _add(build: Build, part: LocatedValue, variables: Variables) -> None:
    for entry in part.entries():
        if entry.name not in _MODULE:
            entry.problem("there is no such part of a resource", suggestion(entry.name, list(_MODULE)))
    _note_actions(part)
    place = part.member("component")
    name = str(variables.resolved(place, part.name) or "") if isinstance(place.value, str) else place.text()
    if not name:
        place.with_value("").text()
        return
    props = part.member("props")
    component = COMPONENTS.get(component_of(name))
    if component is None and _is_path(name):
        component = _of_folder(place, name, props)
    elif component is None:
        place.problem(
            Phrase("the component {name} is not known", name=name), suggestion(component_of(name), list(COMPONENTS))
        )
    if component is None:
        return
    props = props.with_value(variables.resolved(props, part.name))
    region = props.member("region")
    if isinstance(region.value, str) and region.value not in {"", build.region}:
        region.note(Phrase("the emulator is in {region}; everything is made there", region=build.region))
    component(build, part, props)


def _is_path(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def _of_folder(place: LocatedValue, name: str, props: LocatedValue) -> Component | None:
    """Return the component of a folder, recognized by its properties."""
    known = component_of_props(props.value if isinstance(props.value, dict) else {})
    if known is None:
        place.problem(Phrase("the properties in {name} do not identify a component: name it, such as fc3", name=name))
        return None
    place.note(Phrase("the component in {path} is read as {name}", path=name, name=known))
    return COMPONENTS[known]


def component_of(name: str) -> str:
    """Return the bare name of a component: without its author and version."""
    return re.sub(r"@.*", "", name).rpartition("/")[2]
