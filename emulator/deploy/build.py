"""Building the resources of a file, for the readers of all formats: a resource is added, then others can refer to it.

Source: the return values of the ROS resource types ``ALIYUN::FC::*``, ``ALIYUN::FC3::*``, ``ALIYUN::FNF::*``,
``ALIYUN::MNS::*`` and ``ALIYUN::RAM::*``.
"""

import json
from collections.abc import Callable, Mapping, Set
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy.fc_providers import DEFAULT_TRIGGER_ROLE
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Resource, key_of, type_of
from emulator.deploy.notation import FORM, kept, uncapitalised
from emulator.deploy.places import Findings, LocatedValue
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.names import POLICY, ROLE, NameRule, fitted, told_apart
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.services.fc.triggers.model import KINDS as TRIGGER_KINDS
from emulator.services.fc.triggers.model import TriggerKind, is_kind, trigger_type_of
from emulator.services.ram import model as roles
from emulator.services.ram.system_policies import is_effective, system_policy, system_policy_names

Builder = Callable[["Build", LocatedValue, str], None]
"""Adds the resources described by a part of a file; the last argument is its type as written."""


class Build:
    """Resources under construction, in the order in which they can be created."""

    def __init__(self, *, scope: Scope, files: Files, findings: Findings) -> None:
        self.scope = scope
        self.files = files
        self.findings = findings
        self.resources: list[Resource] = []
        self._keys: dict[str, str] = {}

    @property
    def account(self) -> str:
        """The id of the account."""
        return self.scope.target.account

    @property
    def region(self) -> str:
        """The region."""
        return self.scope.target.region

    def properties(self, part: LocatedValue) -> LocatedValue:
        """Return a resource's ``Properties`` with every function evaluated."""
        attributes = part.member("Properties")
        return attributes.with_value(self.scope.value(attributes))

    def add(
        self,
        part: LocatedValue,
        kind: str,
        identity: tuple[str, ...],
        properties: Mapping[str, Any],
        *,
        type_name: str = "",
        logical: str = "",
        package: bytes | None = None,
        also_known_as: tuple[str, ...] = (),
    ) -> Resource:
        """Add a resource; a second one of the same identity is a problem.

        *type_name* is its type where the file writes one.
        """
        resource = Resource(
            logical=logical or part.name,
            type=type_name or type_of(kind),
            kind=kind,
            identity=identity,
            properties=kept(properties),
            line=part.mark.line,
            column=part.mark.column,
            package=package,
        )
        if resource.physical and resource.key in self._keys:  # a missing name has been reported already
            part.problem(
                Phrase("{name} is described by {other} too", name=resource.physical, other=self._keys[resource.key])
            )
        self._keys[resource.key] = resource.logical
        self.resources.append(resource)
        known = PROVIDERS[kind].attributes_of(resource, self.scope.target)
        for name in (resource.logical, *also_known_as):
            self.scope.attributes[name] = known
        return resource

    def describes(self, kind: str, identity: tuple[str, ...]) -> bool:
        """Whether a resource was added before."""
        return key_of(kind, identity) in self._keys

    def changed(self, kind: str, identity: tuple[str, ...], change: Callable[[Resource], Resource]) -> bool:
        """Replace a resource added before by the result of *change*; return whether there is one."""
        for number, each in enumerate(self.resources):
            if (each.kind, each.identity) == (kind, identity):
                self.resources[number] = change(each)
                return True
        return False

    def default_name(self, part: LocatedValue, rule: NameRule, *, end: str = "") -> str:
        """Return the name of a resource that has none in its file."""
        return fitted(f"{self.scope.target.name}-{part.name}", rule, end=end)

    def role_name(self, part: LocatedValue) -> str:
        """Return the name of the role made for a part of the file.

        To the cloud, names of roles that differ in case only are the same. So the first part of a file gets the plain
        name, and every other that would get the same one a digest; all parts get one when the deployment's name has
        capital letters.
        """
        deployment = self.scope.target.name
        text = f"{deployment}-{part.name}"
        plain = fitted(text.lower(), ROLE, end="-role")
        taken = {each.identity[0].lower() for each in self.resources if each.kind == "ram.role"}
        if plain not in taken and deployment == deployment.lower():
            return plain
        return told_apart(text, ROLE, fold=True, end="-role")

    def role_arn(self, name: str) -> str:
        """Return the resource name (ARN) of a role; one that is an ARN already is returned as it is."""
        return name if name.startswith("acs:") else f"acs:ram::{self.account}:role/{name}"

    def with_role(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return properties with the ARN of their role in place of its name."""
        return values | {"role": self.role_arn(values["role"])} if values.get("role") else values

    def definition(self, part: LocatedValue) -> str | None:
        """Return the flow definition in the file named by a part, with the account's id for ``{accountID}``."""
        text = self.files.text(part)
        return None if text is None else text.replace("{accountID}", self.account)

    def package(self, place: LocatedValue, key: str, values: dict[str, Any]) -> bytes | None:
        """Return the package of the code named by the member *key* of *place*; None for code in a bucket or image.

        What says where the code is leaves *values*; of code in a bucket its place comes into them.
        """
        uri, bucket, name = (values.pop(each, None) for each in (uncapitalised(key), "ossBucket", "ossKey"))
        where = place.member(key)
        if isinstance(uri, dict):
            bucket, name, uri = uri.get("ossBucketName"), uri.get("ossObjectName"), uri.get("src")
            place, key, where = where, "src", where.member("src")
        if not (bucket and name):
            if not isinstance(uri, str):
                if not str(values.get("runtime", "")).startswith("custom-container"):
                    place.problem(Phrase("{name} is missing", name=key))
                return None
            if not uri.startswith("oss://"):
                return self.files.package(where)
            bucket, _, name = uri.removeprefix("oss://").partition("/")
        values["code"] = {"ossBucketName": bucket, "ossObjectName": name}
        return None


_LONGEST_CHAIN = 100


def in_order(wanted: Mapping[str, LocatedValue], needs: Callable[[LocatedValue], Set[str]]) -> list[LocatedValue]:
    """Return resources sorted so that each comes after those it *needs*; otherwise the order of the file stays.

    A cycle is a problem, and so is a chain of more than `_LONGEST_CHAIN` resources.
    """
    places = {name: place for place, name in enumerate(wanted)}
    ordered: dict[str, LocatedValue] = {}
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        part = wanted[name]
        if name in under_way:
            part.problem(
                Phrase("refers to itself: {chain}", chain=" -> ".join([*under_way[under_way.index(name) :], name]))
            )
            return
        if len(under_way) >= _LONGEST_CHAIN:
            part.problem(Phrase("stands at the end of a chain of more than {most} references", most=_LONGEST_CHAIN))
            return
        under_way.append(name)
        for needed in sorted(places.keys() & needs(part), key=places.__getitem__):
            visit(needed)
        under_way.pop()
        ordered[name] = part

    for name in wanted:
        visit(name)
    return list(ordered.values())


NOTHING: Mapping[str, Any] = {}
SYSTEM, CUSTOM = "System", "Custom"
ROLE_TYPE, POLICY_TYPE = "ALIYUN::RAM::Role", "ALIYUN::RAM::ManagedPolicy"
ATTACHMENT_TYPE = "ALIYUN::RAM::AttachPolicyToRole"


def role_properties(trust_document: Any, values: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Return the properties of a role for the API; *trust_document* says who may assume it, *values* are the others."""
    given = {each.name: values.get(uncapitalised(each.name)) for each in roles.ROLE.of_form(FORM)}
    return given | {"AssumeRolePolicyDocument": _document(trust_document)}


def policy_properties(document: Any, description: Any = None) -> dict[str, Any]:
    """Return the properties of a custom policy for the API."""
    return {"PolicyDocument": _document(document), "Description": description or None}


def _document(value: Any) -> str:
    """Return a policy document as JSON text, with scalars as texts, since files write ``Version: 1``."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    return json.dumps(_as_texts(value), ensure_ascii=False)


def _as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_texts(item) for item in value]
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value


def attach(
    build: Build, part: LocatedValue, role: str, kind: str, policy: str, *, type_name: str = "", logical: str = ""
) -> None:
    """Add the attachment of a policy to a role."""
    if kind == SYSTEM and system_policy(policy) is None:
        part.problem(
            Phrase("there is no system policy {policy}", policy=policy), suggestion(policy, system_policy_names())
        )
    elif kind == SYSTEM and not is_effective(policy):
        part.note(Phrase("the policy {policy} is of a service that is not here; it has no effect", policy=policy))
    logical = logical or f"{part.name}/{policy}"
    build.add(part, "ram.attachment", (kind, policy, role), {}, type_name=type_name, logical=logical)


def role_of_policies(build: Build, owner: LocatedValue, policies: LocatedValue, service: str) -> str:
    """Add a role with a list of policies, and return its ARN.

    Each policy is the name of one of the cloud's, or a document.
    """
    logical = f"{owner.name}Role"
    name = build.role_name(owner)
    statement = {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": [f"{service}.aliyuncs.com"]}}
    trust = role_properties({"Statement": [statement], "Version": "1"})
    build.add(owner, "ram.role", (name,), trust, type_name=ROLE_TYPE, logical=logical)
    listed = policies.items() if isinstance(policies.value, list) else [policies]
    for number, policy in enumerate(listed):
        if isinstance(policy.value, str):
            attach(
                build, owner, name, SYSTEM, policy.value, type_name=ATTACHMENT_TYPE, logical=f"{logical}/{policy.value}"
            )
        elif isinstance(policy.value, dict) and "Statement" in policy.value:
            own, what = fitted(name, POLICY, end=f"-policy-{number}"), f"Policy{number}"
            properties = policy_properties(policy.value)
            build.add(policy, "ram.policy", (own,), properties, type_name=POLICY_TYPE, logical=f"{owner.name}{what}")
            attach(build, owner, name, CUSTOM, own, type_name=ATTACHMENT_TYPE, logical=f"{logical}/{what}")
        else:
            policy.problem("must be the name of a policy or a document with Version and Statement")
    return build.role_arn(name)


def add_calls_2(build: Build, part: LocatedValue, function: Resource, calls: Any, type_name: str = "") -> None:
    """Add the asynchronous call settings of a function in a service, if the file has them."""
    if calls:
        identity, logical = (*function.identity, "LATEST"), f"{function.logical}/async"
        build.add(part, "fc.async", identity, calls, type_name=type_name, logical=logical)


_ALIASES: Mapping[str, TriggerKind] = {"cdn": "cdn_events", "mns": "mns_topic", "mnstopic": "mns_topic"}


@frozen
class Event:
    """A trigger as a file describes it; *config* is the part with its configuration."""

    kind: TriggerKind
    config: LocatedValue
    role: str | None = None
    qualifier: str | None = None
    source: str | None = None
    description: str | None = None


def trigger_type(part: LocatedValue) -> TriggerKind | None:
    """Return the type of a trigger in the API; an unknown type is a problem, and None."""
    name = part.text()
    kind = _ALIASES.get(name.lower(), name)
    if is_kind(kind):
        return kind
    if name == "mns_queue":
        part.problem("only function.yml has triggers of the type mns_queue; here the type is eventbridge")
    elif name:
        part.problem(Phrase("the trigger type {name} is not known", name=name), suggestion(name, list(TRIGGER_KINDS)))
    return None


def add_trigger(
    build: Build, part: LocatedValue, function: Resource, event: Event, *, logical: str, type_name: str = ""
) -> Resource:
    """Add a trigger of *function*.

    Event sources of the cloud need a role to call with; where a file names none, as tools add one, it is the account's
    default role.
    """
    if not event.role and trigger_type_of(event.kind).needs_role:
        event = replace(event, role=DEFAULT_TRIGGER_ROLE)
    kind = "fc.trigger" if function.kind == "fc.function" else "fc3.trigger"
    identity = (*function.identity, part.name)
    return build.add(part, kind, identity, trigger_properties(build, event), type_name=type_name, logical=logical)


def trigger_properties(build: Build, event: Event) -> dict[str, Any]:
    """Return the properties of a trigger for the API."""
    return {
        "triggerType": event.kind,
        "triggerConfig": fields.trigger_config(event.config, event.kind),
        "invocationRole": build.role_arn(event.role) if event.role else None,
        "qualifier": event.qualifier,
        "sourceArn": event.source,
        "description": event.description,
    }
