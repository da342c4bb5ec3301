"""Resources as an ``s.yaml`` of Serverless Devs with folders of code beside it.

Source: Serverless Devs, specification of the description file; schemas of the components ``fc`` and ``fc3``.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy import s_components, s_fc_components, service_fields
from emulator.deploy.export.left_out import called, left_out, without_dependents
from emulator.deploy.export.resources import (
    REGION,
    Job,
    Writer,
    Written,
    changed,
    owned,
    parts,
    place,
    plain,
    yaml_text,
)
from emulator.deploy.files import write_package
from emulator.deploy.model import Resource, key_of, type_of
from emulator.deploy.notation import document, uncapitalised, written_members
from emulator.deploy.provider import LATEST
from emulator.deploy.ros_types import BUCKET
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.phrases import Phrase
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

FILE = "s.yaml"
_NO_PLACE = {
    "fc.version": Phrase("versions"), "fc.alias": Phrase("aliases"),
    "fc.provision": Phrase("provisioned instances of functions in services"),
    "fc3.version": Phrase("versions"), "fc3.alias": Phrase("aliases"),
}  # fmt: skip
"""Kinds for which the components have no property, with the words for them in notes."""
_MARK = re.compile(r"\$(?=\{)|\{(?=\{)")
_MARKS = {"$": "dollar", "{": "brace"}
"""The characters that begin variables and placeholders, and the variables that stand for them in literal texts."""

_PROVISION: Mapping[str, Any] = {
    "defaultTarget": 0, "alwaysAllocateCPU": False, "alwaysAllocateGPU": False,
    "scheduledActions": [], "targetTrackingPolicies": [],
}  # fmt: skip
"""Members that component ``fc3`` requires with provisioned instances.

Source: devsapp/fc3 src/schema.json, IProvisionConfig: all five are required.
"""


def write(job: Job) -> Written:
    """Write the code into the job's folder and return the ``s.yaml``."""
    return _Project(job).written()


class _Project(Writer):
    """The project under construction."""

    def __init__(self, job: Job) -> None:
        placeless = [each for each in job.content.resources if each.kind in _NO_PLACE]
        remaining = without_dependents(job.content.resources, placeless)
        job = replace(job, content=replace(job.content, resources=remaining.resources))
        super().__init__(job, lambda text: re.sub("[^0-9A-Za-z]+", "-", text).strip("-"))
        self._notes += [
            left_out(each, Phrase("an s.yaml has no place for {what}", what=_NO_PLACE[each.kind])) for each in placeless
        ]
        self._notes += remaining.notes
        self._resources = remaining.resources
        self._modules: dict[str, Any] = {}
        self._marks: dict[str, str] = {}
        self._done: dict[str, Resource] = {}

    def written(self) -> Written:
        """Return the project's file."""
        for each in self._resources:
            module = _MODULES.get(each.kind)
            if module is not None and (props := module.props(self, each)) is not None:
                self._modules[self._names.of(each)] = {"component": module.component, "props": props}
                self._note_done(each)
        self._note_others()
        file: dict[str, Any] = {"edition": "3.0.0", "name": self._job.name, "access": "default"}
        modules = changed(plain(self._modules), self._expressed)
        file["vars"] = {"region": self._job.region, **self._marks}
        text = yaml_text({**file, "resources": modules})
        return Written(file=FILE, text=text, resources=tuple(self._done.values()), notes=tuple(self._notes))

    @property
    def region(self) -> str:
        """The region, as a place."""
        return place(REGION)

    def _note_others(self) -> None:
        for each in self._resources:
            if each.key not in self._done:
                what = type_of(each.kind).partition(" ")[2]
                self._notes.append(left_out(each, Phrase("an s.yaml has no place for such a {what}", what=what)))

    def _note_done(self, each: Resource) -> Resource:
        return self._done.setdefault(each.key, each)

    def _taken(self, kind: str, identity: tuple[str, ...]) -> Resource | None:
        """Return the resource inside another one, and mark it as written."""
        resource = self._there.get(key_of(kind, identity))
        return None if resource is None else self._note_done(resource)

    def _code(self, each: Resource) -> str | None:
        if each.package is None:
            return None
        return f"./code/{write_package(each.package, self._code_folder(), self._names.of(each))}"

    def layer(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a layer."""
        values = written_members(fields.LAYER, {"layerName": each.identity[0], **each.properties}, capital=False)
        acl = {"acl": each.properties["acl"]} if "acl" in each.properties else {}
        return {"region": self.region, **values, **acl, "code": self._code(each)}

    def service(self, each: Resource) -> dict[str, Any] | None:
        """Return the properties of a service without functions; other services are written with each function."""
        return None if owned("fc.function", self._resources, each.identity) else {"service": self._service(each)}

    def _service(self, each: Resource | None) -> dict[str, Any]:
        if each is None:
            return {}
        self._note_done(each)
        return {"name": each.identity[0], **written_members(fields.SERVICE, each.properties, capital=False)}

    def function_2(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a function in a service, with its service, triggers and domains."""
        service = self._service(self._taken("fc.service", each.identity[:1])) or {"name": each.identity[0]}
        function = {"name": each.identity[1], **written_members(fields.FUNCTION_2, each.properties, capital=False)}
        function["codeUri"] = self._code(each)
        calls = self._taken("fc.async", (*each.identity, LATEST))
        if calls is not None:
            function["asyncConfiguration"] = written_members(fields.ASYNC_2, calls.properties, capital=False)
        props: dict[str, Any] = {"region": self.region, "service": service, "function": function}
        if triggers := self._triggers("fc.trigger", each, ("name", "type", "role", "config")):
            props["triggers"] = triggers
        if domains := self._domains_2(each):
            props["customDomains"] = domains
        return props

    def _triggers(self, kind: str, each: Resource, names: tuple[str, str, str, str]) -> list[dict[str, Any]]:
        triggers = []
        name, type_name, role, config = names
        for trigger in owned(kind, self._resources, each.identity):
            self._note_done(trigger)
            own = trigger.properties
            triggers.append(
                {
                    name: trigger.identity[-1],
                    type_name: own["triggerType"],
                    role: own.get("invocationRole"),
                    "sourceArn": own.get("sourceArn"),
                    "qualifier": own.get("qualifier"),
                    "description": own.get("description"),
                    config: own.get("triggerConfig") or {},
                }
            )
        return triggers

    def _domains_2(self, function: Resource) -> list[dict[str, Any]]:
        domains = []
        for each in self._resources:
            routes = (each.properties.get("routeConfig") or {}).get("routes") or [] if each.kind == "fc.domain" else []
            if routes and (routes[0].get("serviceName"), routes[0].get("functionName")) == function.identity:
                self._note_done(each)
                values = {"domainName": each.identity[0], **each.properties, "routeConfigs": routes}
                domains.append(written_members(s_fc_components.DOMAIN_2, values, capital=False))
                for name in ("tlsConfig", "authConfig"):
                    if each.properties.get(name):
                        self._notes.append(
                            Phrase(
                                "{resource}: component fc has no {name} of domains; left out",
                                resource=called(each),
                                name=name,
                            )
                        )
        return domains

    def function_3(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a function, with its triggers and settings."""
        props: dict[str, Any] = {"region": self.region, "functionName": each.identity[0]}
        props |= written_members(fields.FUNCTION_3, each.properties, capital=False)
        if fields.is_log_of_auto(each.properties.get("logConfig"), self._job.region):
            props["logConfig"] = "auto"
        props["code"] = self._code(each)
        tables = {"asyncInvokeConfig": ("async", fields.ASYNC_3), "provisionConfig": ("provision", fields.PROVISION),
                  "scalingConfig": ("scaling", fields.SCALING)}  # fmt: skip
        for key, (what, table) in tables.items():
            if (setting := self._taken(f"fc3.{what}", (*each.identity, LATEST))) is not None:
                props[key] = {**written_members(table, setting.properties, capital=False), "qualifier": LATEST}
        if kept := props.get("provisionConfig"):
            props["provisionConfig"] = {**_PROVISION, "defaultTarget": kept.pop("target", 0), **kept}
        if (limit := self._taken("fc3.concurrency", each.identity)) is not None:
            props["concurrencyConfig"] = written_members(fields.CONCURRENCY, limit.properties, capital=False)
        names = ("triggerName", "triggerType", "invocationRole", "triggerConfig")
        if triggers := self._triggers("fc3.trigger", each, names):
            props["triggers"] = triggers
        return props

    def domain_3(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a domain."""
        own = {"domainName": each.identity[0], **each.properties}
        return {"region": self.region, **written_members(s_fc_components.DOMAIN_3, own, capital=False)}

    def bucket(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a bucket."""
        values = {uncapitalised(name): each.properties.get(name) for name in BUCKET}
        return {"region": self.region, "bucketName": each.identity[0], **values}

    def queue(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a queue."""
        return {"queueName": each.identity[0], **service_fields.file_values(QUEUE, each.properties, capital=False)}

    def policy(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a policy."""
        values = {"policyDocument": document(each.properties["PolicyDocument"])}
        return {"policyName": each.identity[0], **values, "description": each.properties.get("Description")}

    def flow(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a flow, with its schedules."""
        own = {uncapitalised(name): value for name, value in each.properties.items()}
        own["definition"] = _block(str(own.get("definition") or ""))
        props = written_members(s_components.FLOW, {"name": each.identity[0], **own}, capital=False)
        schedules = []
        for schedule in owned("fnf.schedule", self._resources, each.identity):
            self._note_done(schedule)
            members = {uncapitalised(name): value for name, value in schedule.properties.items()}
            schedules.append(
                written_members(s_components.SCHEDULE, {"name": schedule.identity[1], **members}, capital=False)
            )
        if schedules:
            props["schedules"] = schedules
        return {"region": self.region, **props}

    def topic(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a topic, with its subscriptions."""
        props = {"topicName": each.identity[0], **service_fields.file_values(TOPIC, each.properties, capital=False)}
        subscriptions = []
        for own in owned("mns.subscription", self._resources, each.identity):
            self._note_done(own)
            values = service_fields.file_values(SUBSCRIPTION, own.properties, capital=False)
            subscriptions.append({"subscriptionName": own.identity[1], **values})
        if subscriptions:
            props["subscriptions"] = subscriptions
        return props

    def role(self, each: Resource) -> dict[str, Any]:
        """Return the properties of a role, with its policies."""
        props = {"roleName": each.identity[0], "description": each.properties.get("Description")}
        props["maxSessionDuration"] = each.properties.get("MaxSessionDuration")
        props["assumeRolePolicyDocument"] = document(each.properties["AssumeRolePolicyDocument"])
        attached: dict[str, list[str]] = {}
        for own in self._resources:
            if own.kind == "ram.attachment" and own.identity[2] == each.identity[0]:
                self._note_done(own)
                attached.setdefault(own.identity[0].lower(), []).append(own.identity[1])
        return props | ({"policyAttachments": attached} if attached else {})

    def _expressed(self, text: str) -> str:
        """Return a text with variables of Serverless Devs for its places."""
        return "".join(self._literal(each) if isinstance(each, str) else self._variable(*each) for each in parts(text))

    def _literal(self, text: str) -> str:
        """Return a text in which marks of variables and placeholders are escaped by variables."""

        def as_variable(match: re.Match[str]) -> str:
            name = _MARKS[match[0]]
            self._marks[name] = match[0]
            return f"${{vars.{name}}}"

        return _MARK.sub(as_variable, text)

    def _variable(self, kind: str, name: str) -> str:
        match kind:
            case "account":
                return "${config('AccountID')}"
            case "region":
                return "${vars.region}"
            case "variable":
                return f"${{env('{name}')}}"
            case _:
                layer = self._there[key_of("fc3.layer", (name,))]
                return f"${{resources.{self._names.of(layer)}.output.layerVersionArn}}"


@frozen(kw_only=False)
class _Module:
    """The form of a kind: its component, and the function that returns its properties, None if written with another."""

    component: str
    props: Callable[[_Project, Resource], dict[str, Any] | None]


_MODULES: Mapping[str, _Module] = {
    "fc.function": _Module("fc", _Project.function_2),
    "fc.service": _Module("fc", _Project.service),
    "fc3.domain": _Module("fc3-domain", _Project.domain_3),
    "fc3.function": _Module("fc3", _Project.function_3),
    "fc3.layer": _Module("fc3-layer", _Project.layer),
    "fnf.flow": _Module("fnf", _Project.flow),
    "mns.queue": _Module("mns-queue", _Project.queue),
    "mns.topic": _Module("mns-topic", _Project.topic),
    "oss.bucket": _Module("oss-bucket", _Project.bucket),
    "ram.policy": _Module("ram-policy", _Project.policy),
    "ram.role": _Module("ram-role", _Project.role),
}
"""The kinds that have a module of their own; resources that belong to one of them are written with it."""


def _block(definition: str) -> str:
    """Return a definition so that it does not look like a file name, as one of a single line would."""
    if "\n" in definition.strip() or definition.startswith("{"):
        return definition
    return f"{s_components.WRITTEN_HERE}{definition}"
