"""Resources made fit for another account: places for the account, the region and secrets instead of their values.

A place stands in a text between two private characters; each format writes it in its own words.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from emulator.deploy.files import unpacked
from emulator.deploy.inventory import VERSIONS
from emulator.deploy.model import Resource
from emulator.kernel.frozen import frozen, replace

_OPEN, _CLOSE = "\ue010", "\ue011"
_PLACE = re.compile(f"{_OPEN}([a-z]+):([^{_CLOSE}]*){_CLOSE}")

ACCOUNT, REGION, VARIABLE, LAYER, VERSION = "account", "region", "variable", "layer", "version"


def place(kind: str, name: str = "") -> str:
    """Return what stands for a value that is another one elsewhere: *name* is the variable's or the resource's key."""
    return f"{_OPEN}{kind}:{name}{_CLOSE}"


def has_place(value: Any) -> bool:
    """Whether a place stands anywhere in *value*."""
    if isinstance(value, str):
        return _OPEN in value
    if isinstance(value, Mapping):
        return any(has_place(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(has_place(item) for item in value)


def parts(text: str) -> list[tuple[str, str] | str]:
    """Return a text cut at its places: literal texts, and kind and name of each place."""
    parts: list[tuple[str, str] | str] = []
    end = 0
    for match in _PLACE.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        parts.append((match[1], match[2]))
        end = match.end()
    if end < len(text) or not parts:
        parts.append(text[end:])
    return parts


def changed(value: Any, change: Callable[[str], Any]) -> Any:
    """Return *value* with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: changed(item, change) for key, item in value.items()}
    return [changed(item, change) for item in value] if isinstance(value, (list, tuple)) else value


@frozen(kw_only=False)
class Variable:
    """A value that is not written: who deploys the file gives it."""

    name: str
    value: str
    owner: str
    """What it belongs to, for people."""


@frozen
class Portable:
    """Resources whose texts hold places, the variables among these, and what could not be taken along."""

    resources: tuple[Resource, ...]
    variables: tuple[Variable, ...]
    notes: tuple[str, ...]


def portable(resources: Sequence[Resource], account: str, region: str) -> Portable:
    """Return resources with places instead of the account, the region, secrets, and what is numbered on creation."""
    notes: list[str] = []
    variables: dict[str, Variable] = {}
    kept = _with_numbers(_without_made_by_triggers(resources), notes)
    arn = re.compile(rf"(acs:[a-z-]+:){re.escape(region)}(?=:)")
    number = re.compile(rf"(?<!\d){re.escape(account)}(?!\d)")

    def local(text: str) -> str:
        return number.sub(place(ACCOUNT), arn.sub(lambda match: match[1] + place(REGION), text))

    chosen = []
    for each in kept:
        properties = _without_secrets(each, variables)
        chosen.append(replace(each, properties=changed(properties, local)))
        if each.package is not None:
            notes.extend(_suspicious(each))
    return Portable(resources=tuple(chosen), variables=tuple(variables.values()), notes=tuple(notes))


_MADE_BY_TRIGGER = re.compile(r"fc-[0-9a-f-]{36}")


def _without_made_by_triggers(resources: Sequence[Resource]) -> list[Resource]:
    """Leave out the subscriptions that triggers of topics have made."""
    return [
        each
        for each in resources
        if not (
            each.kind == "mns.subscription"
            and _MADE_BY_TRIGGER.fullmatch(each.identity[-1])
            and str(each.properties.get("Endpoint")).startswith("acs:fc:")
        )
    ]


def _with_numbers(resources: Sequence[Resource], notes: list[str]) -> list[Resource]:
    """Put places where a resource is meant by the number it got; an alias of an older version cannot be made again."""
    newest = {(each.kind, each.identity[0]): str(each.properties.get("VersionId") or "") for each in resources
              if each.kind in VERSIONS}  # fmt: skip
    layers = {each.identity[0]: str(each.properties.get("Version") or "") for each in resources
              if each.kind == "fc3.layer"}  # fmt: skip
    numbered = []
    for each in resources:
        properties = {name: item for name, item in each.properties.items() if name not in _NUMBERS}
        if each.kind in {"fc.alias", "fc3.alias"}:
            kind = each.kind.replace("alias", "version")
            wanted = str(properties.get("versionId"))
            if properties.get("additionalVersionWeight") or wanted not in {
                newest.get((kind, each.identity[0])),
                "LATEST",
            }:
                notes.append(
                    f"alias {each.physical}: it leads to a version before the newest, which publishing the code of"
                    " today does not make again; left out"
                )
                continue
            if wanted != "LATEST":
                properties["versionId"] = place(VERSION, f"{kind}/{each.identity[0]}")
        if properties.get("layers"):
            properties["layers"] = [_layer(str(arn), layers, each, notes) for arn in properties["layers"]]
        numbered.append(replace(each, properties=properties))
    return numbered


_NUMBERS = frozenset({"Version", "VersionId"})
_LAYER = re.compile(r".*:layers/([^/]+)/versions/(\d+)")


def _layer(arn: str, layers: Mapping[str, str], owner: Resource, notes: list[str]) -> str:
    match = _LAYER.fullmatch(arn)
    if match is None or match[1] not in layers:
        return arn
    if layers[match[1]] != match[2]:
        notes.append(f"function {owner.physical}: version {match[2]} of layer {match[1]} becomes its newest")
    return place(LAYER, match[1])


_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|private_?key|access_?key|api_?key|auth_?key|(?:^|_)key$|Key$|"
    r"(?:^|_)(?:sk|ak|dsn)$",
    re.IGNORECASE,
)
_SECRET_PART = re.compile(
    r"LTAI[0-9A-Za-z]{8,}|STS\.[0-9A-Za-z]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@|"
    r"(?:gh[pousr]_|glpat-|xox[abprs]-|sk-)[0-9A-Za-z_-]{10,}|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.|"
    r"AKIA[0-9A-Z]{12,}"
)
_SECRET_WHOLE = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[0-9A-Za-z+/_]{24,}={0,2}|[0-9a-fA-F]{32,}")
_SECRET_MEMBERS = re.compile(r'"(?:k|d|privateKey|password|secret)"\s*:')
_MAPS = frozenset({"environmentVariables", "functionParameter"})
_NAMED = frozenset({"privateKey", "password", "accessKeySecret"})
_TEXTS_OF_TEMPLATES = frozenset({"AssumeRolePolicyDocument", "PolicyDocument"})


def looks_secret(name: str, value: str) -> bool:
    """Whether the value of an environment variable looks like a key; an empty one does not."""
    return bool(value) and bool(
        _SECRET_NAME.search(name) or _SECRET_PART.search(value) or _SECRET_WHOLE.fullmatch(value)
    )


def _without_secrets(resource: Resource, variables: dict[str, Variable]) -> dict[str, Any]:
    """Return properties with a variable for each secret in them, noted in *variables*."""

    def hidden(path: Sequence[str], value: str) -> str:
        name = re.sub(r"[^0-9A-Za-z]+", "_", "_".join((*resource.identity, path[-1]))).strip("_").upper()
        name = name if name[:1].isalpha() else f"V_{name}"
        number, free = 1, name
        while free in variables and variables[free].value != value:
            number += 1
            free = f"{name}_{number}"
        variables[free] = Variable(free, value, f"{resource.physical}: {'.'.join(path)}")
        return place(VARIABLE, free)

    def walk(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            if set(value) == {"Name", "Value"} and isinstance(value["Value"], str):
                name = str(value["Name"])
                secret = looks_secret(name, value["Value"])
                return {"Name": name, "Value": hidden((*path, name), value["Value"]) if secret else value["Value"]}
            return {key: walk(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item, path) for item in value]
        if isinstance(value, str) and is_secret(value, path):
            return hidden(path, value)
        return value

    def is_secret(value: str, path: tuple[str, ...]) -> bool:
        if len(path) > 1 and path[-2] in _MAPS:
            return looks_secret(path[-1], value)
        if path[-1] in _NAMED or (path[-1] == "authInfo" and _SECRET_MEMBERS.search(value)):
            return bool(value)
        return path[-1] not in _TEXTS_OF_TEMPLATES and _SECRET_PART.search(value) is not None

    return {name: walk(item, (name,)) for name, item in resource.properties.items()}


_KEY_FILES = re.compile(r"(?:^|/)(?:\.env(?:\.[^/]*)?|[^/]*\.pem|id_[a-z0-9]+|credentials[^/]*|[^/]*\.p12|[^/]*\.key)$")


def _suspicious(resource: Resource) -> Iterable[str]:
    """Yield a note for each file of the code whose name is that of files with keys."""
    for name in unpacked(resource.package or b""):
        if _KEY_FILES.search(name):
            yield f"{resource.physical}: its code holds {name}, which may be secret; code is written as it is"


def document(text: Any) -> Any:
    """Return what a JSON text stands for, the text itself when it is none."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
