"""``s.yaml`` of Serverless Devs, editions 1.0.0 and 3.0.0 -> a blueprint.

Source: Serverless Devs, specification of the description file.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.deploy.build import Build, in_order
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import Blueprint, Problem, Target, unset
from emulator.deploy.s_components import COMPONENTS
from emulator.deploy.shapes import Findings, LocatedValue, whole
from emulator.kernel.frozen import frozen
from emulator.kernel.spelling import suggestion
from emulator.wire.yaml import Mark

_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_CALL = re.compile(r"(env|config|file|path|json)\((.*)\)", re.DOTALL)
_ARGUMENTS = re.compile(
    r"""\s*(?:'([^']*)'|"([^"]*)"|([^,'")]*))\s*(?:,\s*(?:'([^']*)'|"([^"]*)"|([^'")]*))\s*)?""", re.DOTALL
)
_DEEPEST = 20


class Variables:
    """What variables stand for in a file; *modules* are its resources by name, *environ* the process's variables."""

    def __init__(
        self,
        root: LocatedValue,
        modules: Mapping[str, LocatedValue],
        scope: Scope,
        files: Files,
        environ: Mapping[str, str],
    ) -> None:
        self._root = root
        self._files = files
        self._modules = modules
        self._scope = scope
        self._environ = environ

    def resolved(self, part: LocatedValue, this: str, depth: int = 0) -> Any:
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

        def written(match: re.Match[str]) -> str:
            item = self._value(part, match[1].strip(), match[0], this, depth)
            return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)

        return _VARIABLE.sub(written, value)

    def _value(self, part: LocatedValue, name: str, as_written: str, this: str, depth: int) -> Any:
        call = _CALL.fullmatch(name)
        if call is not None:
            return self._called(part, call[1], call[2])
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

    def _called(self, part: LocatedValue, function: str, arguments: str) -> Any:
        inner = _CALL.fullmatch(arguments.strip())
        if inner is not None:
            argument, default = self._called(part, inner[1], inner[2]), None
        else:
            texts = _ARGUMENTS.fullmatch(arguments)
            if texts is None:
                part.problem(f"{function}({arguments[:80]}) cannot be read")
                return None
            argument = next((text for text in texts.groups()[:3] if text), "").strip()
            default = next((text for text in texts.groups()[3:] if text is not None), None)
        match function:
            case "env":
                value = self._environ.get(str(argument), default)
                if value is None and part.findings.may_lack_values:
                    return unset(str(argument))
                if value is None:
                    part.problem(f"the environment variable {argument} is not set: export {argument}=... sets it")
                return value
            case "config":
                target = self._scope.target
                known = {"accountid": target.account, "region": target.region}
                if str(argument).lower() not in known:
                    part.problem(f"config('{argument}') is not known here; AccountID is")
                return known.get(str(argument).lower())
            case "file":
                return self._files.text(part.with_value(argument))
            case "path":
                return str((self._files.folder / str(argument)).resolve())
            case _:
                return self._json(part, argument)

    def _json(self, part: LocatedValue, text: Any) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError):
            part.problem(f"json({str(text)[:40]!r}) is not JSON")
            return None

    def _of_module(self, part: LocatedValue, module: str, path: list[str], name: str, depth: int) -> Any:
        start = self._modules.get(module)
        if start is None:
            part.problem(f"${{{name}}}: there is no resource {module}")
            return None
        if path[:1] == ["name"] and len(path) == 1:
            return module
        if path[:1] in (["output"], ["info"]):
            known = self._scope.attributes.get(module, {})
            attribute = ".".join(path[1:])
            if attribute in known:
                return known[attribute]
            path = ["props", *path[1:]]
        return self._walked(part, start, path, name, module, depth)

    def _walked(
        self, part: LocatedValue, start: LocatedValue, path: list[str], name: str, this: str, depth: int
    ) -> Any:
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


def modules_in(value: Any, modules: Mapping[str, LocatedValue]) -> set[str]:
    """Return the resources whose outputs a value refers to."""
    if isinstance(value, dict):
        return set().union(*(modules_in(item, modules) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(modules_in(item, modules) for item in value))
    if not isinstance(value, str):
        return set()
    names = set()
    for name in _VARIABLE.findall(value):
        first, *path = name.strip().split(".")
        module = path[0] if first in {"resources", "services"} and path else first
        if module in modules:
            names.add(module)
    return names


_TOP = ("edition", "name", "access", "extend", "template", "vars", "services", "resources", "actions", "flow", "env")
_MODULE = ("component", "props", "actions", "access", "extend")
_LONGEST_LINEAGE = 10


def extended(root: LocatedValue, files: Files) -> LocatedValue:
    """Return a file merged with the one it extends, that with the next; maps are merged, all else is replaced.

    What comes from another file has the place of what it belongs to in this one.

    Source: Serverless Devs, "Yaml extend".
    """
    for _ in range(_LONGEST_LINEAGE):
        place = root.member("extend")
        if place.value is None:
            return root
        text = files.text(place)
        base = whole(text, Findings()).value if text is not None else {}
        own = {key: value for key, value in root.value.items() if key != "extend"}
        root = root.with_value(_merged(base if isinstance(base, dict) else {}, own))
    root.member("extend").problem(f"more than {_LONGEST_LINEAGE} files extend each other")
    return root


def _merged(base: Any, own: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    return {key: _merged(base.get(key), own[key]) if key in own else base[key] for key in [*base, *own]}


def read_project(
    root: LocatedValue, target: Target, files: Files, environ: Mapping[str, str], *, actions_run: bool
) -> Blueprint:
    """Return what an ``s.yaml`` says.

    Raises: FileProblems.
    """
    for entry in root.entries():
        if entry.name not in _TOP:
            near = suggestion(entry.name, list(_TOP))
            report = entry.note if isinstance(entry.value, (dict, list)) and not near else entry.problem
            report(f"there is no such section{near}")  # a section of anchors for other parts is one of these
    modules = _modules(root)
    if not modules:
        root.member("resources" if "resources" in root.value else "services").problem("there are no resources")
    _note_actions(root)
    root.findings.check()
    scope = Scope(target, {}, {}, root.member("conditions").with_value({}))
    build = Build(scope=scope, files=files, findings=root.findings)
    variables = Variables(root, modules, scope, files, environ)
    commands = _commands_by_module(root, modules, variables)
    for action in () if actions_run else [action for each in commands.values() for action in each]:
        text = f"not run: {action}; localyun deploy --run-actions runs it"
        root.findings.notes.append(Problem(*action.mark, text))
    for part in in_order(modules, lambda part: _needs(part, modules)):
        files.built_by = [action.command for action in (*commands[""], *commands[part.name])]
        _add(build, part, variables)
    root.findings.check()
    return Blueprint(resources=tuple(build.resources), outputs={})


def _modules(root: LocatedValue) -> dict[str, LocatedValue]:
    """Return the resources by name, with what each takes over from a template."""
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
        extend.problem(f"there is no template {name}{suggestion(name, [each.name for each in templates.entries()])}")
        return part
    ignored = extend.member("ignore").value or []
    base = {key: value for key, value in template.items() if key not in ignored}
    return part.with_value({**part.value, "props": _merged(base, part.value.get("props") or {})})


_BEFORE = re.compile(r"(?:pre-)?(?:deploy|build)|pre-\$\{regex\(['\"](.*)['\"]\)\}")


@frozen
class ActionCommand:
    """A command that the file wants run before a deployment; ``folder`` is relative to that of the file."""

    command: str
    folder: str
    mark: Mark

    def __str__(self) -> str:
        """The command and where it runs, for people."""
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
    """Note the actions that are not run whatever the command's options: components, plugins and later occasions."""
    for occasion in place.member("actions").entries():
        items = occasion.value if isinstance(occasion.value, list) else []
        if not _is_before(occasion.name) or any(not isinstance(item, dict) or "run" not in item for item in items):
            occasion.note("only commands before a deployment can be run here")


def _needs(part: LocatedValue, modules: Mapping[str, LocatedValue]) -> list[str]:
    named = modules_in(part.value, modules)
    return [name for name in modules if name != part.name and name in named]


def _add(build: Build, part: LocatedValue, variables: Variables) -> None:
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
