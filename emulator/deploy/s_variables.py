"""Variables of an ``s.yaml``: ``${vars.region}``, ``${env('NAME')}``, ``${resources.api.output.functionArn}``.

Source: Serverless Devs, specification of the description file; for environments, component ``fc``, the command ``env``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import unset
from emulator.deploy.places import LocatedValue
from emulator.kernel.digits import read_digits
from emulator.kernel.phrases import Phrase

_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_CALL = re.compile(r"(env|config|file|path|json)\((.*)\)", re.DOTALL)
_ARGUMENT = r"""(?:'([^']*)'|"([^"]*)"|(\w+\(.*\))|([^,'"()]*))"""
_ARGUMENTS = re.compile(rf"\s*{_ARGUMENT}\s*(?:,\s*{_ARGUMENT}\s*)?", re.DOTALL)
_DEEPEST = 20
ENVIRONMENT = "testing"
"""The name of the environment of a deployment, unless another was chosen."""


class Variables:
    """The values of variables in a file; *modules* are its resources by name, *environ* the process's variables."""

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
        if name == "environment.name":
            part.note(Phrase("no environment is selected: {name} is used", name=ENVIRONMENT))
            return ENVIRONMENT
        return as_written

    def _called(self, part: LocatedValue, function: str, arguments: str) -> Any:
        texts = _ARGUMENTS.fullmatch(arguments)
        if texts is None:
            part.problem(Phrase("{function}({arguments}) cannot be read", function=function, arguments=arguments[:80]))
            return None
        argument, default = (self._argument(part, texts.groups()[first : first + 4]) for first in (0, 4))
        argument = "" if argument is None else argument
        match function:
            case "env":
                value = self._environ.get(str(argument), default)
                if value is None and part.findings.may_lack_values:
                    return unset(str(argument))
                if value is None:
                    part.problem(
                        Phrase(
                            "the environment variable {name} is not set: export {name}=... sets it",
                            name=argument,
                        )
                    )
                return value
            case "config":
                target = self._scope.target
                known = {"accountid": target.account, "region": target.region}
                if str(argument).lower() not in known:
                    part.problem(Phrase("config('{name}') is not known here; AccountID is", name=argument))
                return known.get(str(argument).lower())
            case "file":
                return self._files.text(part.with_value(argument), conceal=True)
            case "path":
                return str((self._files.folder / str(argument)).resolve())
            case _:
                return self._json(part, argument)

    def _argument(self, part: LocatedValue, forms: Sequence[str | None]) -> Any:
        """Return an argument of a call: quoted, a call itself, or plain; None when there is none."""
        call = _CALL.fullmatch(forms[2]) if forms[2] else None
        if call is not None:
            return self._called(part, call[1], call[2])
        return next((text.strip() for text in forms if text is not None), None)

    def _json(self, part: LocatedValue, text: Any) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError):
            part.problem(Phrase("json({text!r}) is not JSON", text=str(text)[:40]))
            return None

    def _of_module(self, part: LocatedValue, module: str, path: list[str], name: str, depth: int) -> Any:
        start = self._modules.get(module)
        if start is None:
            part.problem(Phrase("${{{name}}}: there is no resource {module}", name=name, module=module))
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
            index = read_digits(key) if isinstance(place.value, list) else None
            if index is not None and index < len(place.value):
                place = place.items()[index]
            elif isinstance(place.value, dict) and key in place.value:
                place = place.member(key)
            else:
                part.problem(Phrase("${{{name}}} leads nowhere", name=name))
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
