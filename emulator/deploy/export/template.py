"""Resources as a ROS template, with a plain resource type for each.

Source: Resource Orchestration Service, reference of resource types; a template holds at most 524,288 bytes.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy.export.left_out import left_out
from emulator.deploy.export.resources import (
    ACCOUNT,
    LAYER,
    REGION,
    VARIABLE,
    VERSION,
    Job,
    Writer,
    Written,
    has_place,
    needs,
    parts,
    plain,
    yaml_text,
)
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Resource, key_of
from emulator.deploy.notation import written_members
from emulator.deploy.provider import LATEST
from emulator.deploy.ros_types import ROS_TYPES, RosType
from emulator.kernel.phrases import Phrase

FILE = "template.yml"
LARGEST_INLINE = 200 * 1024
"""Bytes of all packages written into the template; further ones are files, to be stored in a bucket."""
LARGEST_TEMPLATE = 524_288
CODE_BUCKET = "CodeBucket"
_CALLS, _FUNCTION_2 = "fc.async", "fc.function"

_TYPES: Mapping[str, tuple[str, RosType]] = {
    each.kind: (name, each) for name, each in ROS_TYPES.items() if PROVIDERS[each.kind].groups
}
"""By kind: the name of the type, and the type by which it is read."""


def write(job: Job) -> Written:
    """Write the files beside the template into the job's folder and return the template."""
    return _Template(job).written()


class _Template(Writer):
    """The template under construction."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            job, lambda text: "".join(word[:1].upper() + word[1:] for word in re.findall("[0-9A-Za-z]+", text))
        )
        self._inline = 0
        self._files = 0

    def written(self) -> Written:
        """Return the template."""
        resources, done = {}, []
        for each in self._job.content.resources:
            if each.kind == _CALLS:
                if each.identity[-1] != LATEST:
                    self._notes.append(left_out(each, "a template has a place for those of LATEST only"))
                elif key_of(_FUNCTION_2, each.identity[:2]) in self._there:
                    done.append(each)
                continue
            resources[self._names.of(each)] = self._resource(each)
            done.append(each)
        template: dict[str, Any] = {"ROSTemplateFormatVersion": "2015-09-01"}
        parameters = {
            each.name: {"Type": "String", "NoEcho": True, "Description": each.owner}
            for each in self._job.content.variables
        }
        if self._files:
            parameters[CODE_BUCKET] = {"Type": "String", "Description": "the bucket with the files of the folder code"}
            self._notes.append(
                Phrase(
                    "put the archives of the folder code into a bucket and name it: {parameter}",
                    parameter=CODE_BUCKET,
                )
            )
        if parameters:
            template["Parameters"] = parameters
        text = yaml_text({**template, "Resources": resources})
        if len(text.encode()) > LARGEST_TEMPLATE:
            self._notes.append(
                Phrase(
                    "the template is larger than the {most} bytes that ROS takes: use --only",
                    most=LARGEST_TEMPLATE,
                )
            )
        return Written(file=FILE, text=text, resources=tuple(done), notes=tuple(self._notes))

    def _resource(self, each: Resource) -> dict[str, Any]:
        name, type_ = _TYPES[each.kind]
        properties = dict(zip(type_.identity, each.identity, strict=False)) | self._own(each, type_)
        entry: dict[str, Any] = {"Type": name}
        if depends := [self._names.of(need) for need in needs(each, self._there) if need.kind != _CALLS]:
            entry["DependsOn"] = depends
        return {**entry, "Properties": self._expressed(plain(properties))}

    def _own(self, each: Resource, type_: RosType) -> dict[str, Any]:
        own = type_.written(type_, dict(each.properties)) | self._code(each)
        if "acl" in each.properties:
            self._skip(each, Phrase("the type has no property that opens a layer to all"))
        if (calls := self._calls(each)) is not None:
            own["AsyncConfiguration"] = written_members(fields.ASYNC_2, calls.properties, capital=True)
        return own

    def _calls(self, each: Resource) -> Resource | None:
        """Return the asynchronous call settings of a function in a service, a property of the function here."""
        return self._there.get(key_of(_CALLS, (*each.identity, LATEST))) if each.kind == _FUNCTION_2 else None

    def _code(self, each: Resource) -> dict[str, Any]:
        if each.package is None:
            return {}
        if self._inline + len(each.package) <= LARGEST_INLINE:
            self._inline += len(each.package)
            return {"Code": {"ZipFile": b64encode(each.package).decode("ascii")}}
        self._files += 1
        return {"Code": {"OssBucketName": {"Ref": CODE_BUCKET}, "OssObjectName": self._archive(each)}}

    def _expressed(self, value: Any) -> Any:
        """Return a value with functions of ROS for its places."""
        if isinstance(value, dict):
            return {key: self._expressed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._expressed(item) for item in value]
        if not isinstance(value, str) or not has_place(value):
            return value
        pieces = parts(value)
        if len(pieces) == 1 and not isinstance(pieces[0], str):
            kind, name = pieces[0]
            if kind in {LAYER, VERSION}:
                return {"Fn::GetAtt": list(self._attribute(kind, name))}
            return {"Ref": self._reference(kind, name)}
        text = "".join(
            each.replace("${", "${!") if isinstance(each, str) else f"${{{self._reference(*each)}}}" for each in pieces
        )
        return {"Fn::Sub": text}

    def _reference(self, kind: str, name: str) -> str:
        return {ACCOUNT: "ALIYUN::AccountId", REGION: "ALIYUN::Region", VARIABLE: name}[kind]

    def _attribute(self, kind: str, name: str) -> tuple[str, str]:
        if kind == LAYER:
            return self._names.of(self._there[key_of("fc3.layer", (name,))]), "Arn"
        version, _, owner = name.partition("/")
        return self._names.of(self._there[key_of(version, (owner, "version"))]), "VersionId"
