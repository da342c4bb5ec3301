"""Resources as HCL for Terraform's provider ``aliyun/alicloud``, with archives of code beside it.

Source: documentation of the provider's resources (website/docs/r in aliyun/terraform-provider-alicloud), and the
argument classes of pulumi-alicloud 4.0, which are generated from the provider's schema: names, blocks and maps.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy.export.resources import Job, Writer, Written, has_place, needs, parts, plain
from emulator.deploy.model import Resource, key_of
from emulator.deploy.provider import LATEST
from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase
from emulator.services.ram.model import ROLE
from emulator.services.workflow.model import SCHEDULE
from emulator.wire.schema.kinds import Shape

FILE = "main.tf"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _arguments_of(shape: Shape) -> frozenset[str]:
    """Return the arguments of a resource whose attributes the provider names as the API does, in snake case."""
    return frozenset(re.sub(r"(?<!^)(?=[A-Z])", "_", each.name).lower() for each in shape.of_form("file"))


@frozen(kw_only=False)
class Type:
    """A resource type: its name, the arguments of the identity, all its arguments, and those named differently.

    ``written`` returns the arguments that are not written as the API says them, and takes those that these replace out
    of its last argument. ``absent`` are the members that a block of the provider's does not have. ``latest_only``: the
    provider identifies it by the function and asks for no qualifier.
    """

    name: str
    identity: tuple[str, ...]
    arguments: frozenset[str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    written: "Callable[[_Configuration, Resource, dict[str, Any]], dict[str, Any]]" = lambda file, each, arguments: {}
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    latest_only: bool = False


_ASYNC_2 = {"max_async_event_age_in_seconds": "maximum_event_age_in_seconds",
            "max_async_retry_attempts": "maximum_retry_attempts"}  # fmt: skip
_FUNCTION_3 = _words(
    "cpu custom_container_config custom_dns custom_runtime_config description disk_size environment_variables"
    " gpu_config handler instance_concurrency instance_lifecycle_config internet_access layers log_config"
    " memory_size nas_config oss_mount_config role runtime timeout vpc_config idle_timeout instance_isolation_mode"
    " session_affinity session_affinity_config resource_group_id tags"
)
_FUNCTION_2 = _words(
    "description handler memory_size runtime timeout environment_variables initializer initialization_timeout"
    " instance_type instance_concurrency ca_port custom_container_config layers"
)
_QUEUE = _words(
    "delay_seconds maximum_message_size message_retention_period visibility_timeout polling_wait_seconds"
    " logging_enabled dlq_policy tags"
)
_SUBSCRIPTION = _words("endpoint push_type filter_tag notify_content_format notify_strategy dlq_policy")
_MAPS = frozenset({"environment_variables", "additional_version_weight", "params", "tags"})
"""Arguments that are maps whose keys are the user's; every other map is a block."""


_USUAL: Mapping[str, Any] = {
    "queue_type": "normal", "topic_type": "normal", "qualifier": "LATEST",
    "disk_size": 512, "instance_type": "e1", "environment": {"Variables": []}, "enable_sse": False,
    "deletion_force": False,
}  # fmt: skip
"""Values that need not be written, nor noted where a type has no argument for them."""


_ANY_HANDLER = "index.handler"
"""The handler of a custom runtime without one, which ignores it; the provider refuses an empty one."""

_ENDPOINTS = (
    ("http", re.compile(r"(https?://.*)")),
    ("queue", re.compile(r"acs:mns:.*:/?queues/([^/]+)")),
    ("email", re.compile(r"mail:directmail:(.*)")),
    ("dm", re.compile(r"(smq-ep:dm:.*)")),
    ("alisms", re.compile(r"sms:directsms:(.*)")),
    ("alisms", re.compile(r"(sms:.*)")),
    ("dysms", re.compile(r"(smq-ep:dysms:.*)")),
    ("mpush", re.compile(r"push:(.*)")),
    ("eventbus", re.compile(r"(acs:eventbridge:.*)")),
    ("kafka", re.compile(r"kafka:(.*)")),
    ("fc", re.compile(r"(.*)")),
)
"""The form of each kind of endpoint in the API, by the provider's name of the kind."""


def _is_unset(value: Any) -> bool:
    """Whether a value is the API's for a structure that is not set."""
    if isinstance(value, dict):
        return all(_is_unset(item) for item in value.values())
    return value in ("", "None", -1, []) or value is False


def _is_empty(value: Any) -> bool:
    """Whether an argument of a block can be left out: the provider reads an empty text or block back as none."""
    return value in ("", [], {})


def snake(name: str) -> str:
    """Return a name of the API in the provider's spelling: ``alwaysAllocateCPU`` is ``always_allocate_cpu``."""
    known = {"vSwitchIds": "vswitch_ids", "vSwitchId": "vswitch_id"}
    return known.get(name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def write(job: Job) -> Written:
    """Write archives of code into the job's folder and return ``main.tf``."""
    return _Configuration(job, _identifier).written()


@frozen(kw_only=False)
class _Raw:
    """An HCL expression, written as it is."""

    text: str


class _Configuration(Writer):
    """The configuration under construction."""

    def written(self) -> Written:
        """Return the configuration."""
        done, blocks = [], []
        for each in self._job.content.resources:
            if each.kind not in TYPES:
                if each.kind != "fc.version":  # versions are made by ``publish`` of their service
                    self._skip(each, Phrase("the provider has no type for {kind}", kind=each.kind))
                continue
            known = TYPES[each.kind]
            if known.latest_only and each.identity[-1] != LATEST:
                self._skip(each, Phrase("{type} is read back for LATEST alone", type=known.name))
                continue
            blocks.append(self._resource(each))
            done.append(each)
        text = "\n".join([self._head(), *blocks])
        return Written(file=FILE, text=text, resources=tuple(done), notes=tuple(self._notes))

    def _head(self) -> str:
        lines = [
            "terraform {", "  required_providers {", "    alicloud = {", '      source = "aliyun/alicloud"', "    }",
            "  }", "}", "", 'variable "region" {', "  type    = string",
            f"  default = {_quoted(self._job.region)}", "}", "",
            'provider "alicloud" {', "  region = var.region", "}", "", 'data "alicloud_account" "current" {}', "",
        ]  # fmt: skip
        for each in self._job.content.variables:
            lines += [
                f'variable "{each.name.lower()}" {{', "  type        = string", "  sensitive   = true",
                f"  description = {_quoted(each.owner)}", "}", "",
            ]  # fmt: skip
        return "\n".join(lines)

    def _resource(self, each: Resource) -> str:
        known = TYPES[each.kind]
        identity = dict(zip(known.identity, each.identity, strict=False))
        arguments: dict[str, Any] = {**identity, **self._arguments(each, known)}
        lines = [f'resource "{known.name}" "{self._names.of(each)}" {{', *self._body(arguments, "  ")]
        depends = [need for need in needs(each, self._there) if need.kind in TYPES]
        if depends:
            listed = ", ".join(f"{TYPES[need.kind].name}.{self._names.of(need)}" for need in depends)
            lines += ["", f"  depends_on = [{listed}]"]
        if ignored := self._shown_otherwise(each, arguments):
            lines += ["", "  lifecycle {", f"    ignore_changes = [{ignored}]", "  }"]
        return "\n".join([*lines, "}", ""])

    def _shown_otherwise(self, each: Resource, arguments: Mapping[str, Any]) -> str:
        """Return the argument that the provider reads back differently or not at all; "" when there is none."""
        if "publish" in arguments:
            return "publish"
        return "endpoint" if arguments.get("endpoint") != each.properties.get("Endpoint") else ""

    def _arguments(self, each: Resource, known: Type) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, value in plain(each.properties).items():
            argument = snake(name)
            argument = known.renamed.get(argument, argument)
            if value == {} or (isinstance(value, dict) and argument not in _MAPS and _is_unset(value)):
                continue
            if argument in known.arguments:
                arguments[argument] = self._within(each, known, argument, value)
            elif value != _USUAL.get(argument):
                self._skip(each, Phrase("{type} has no argument for {name}", type=known.name, name=name))
        return arguments | known.written(self, each, arguments)

    def _within(self, each: Resource, known: Type, block: str, value: Any) -> Any:
        """Return the value of an argument without members that the provider does not have."""
        if isinstance(value, list):
            return [self._within(each, known, block, item) for item in value]
        if not isinstance(value, dict) or block in _MAPS:
            return value
        kept = {}
        for name, item in value.items():
            if snake(name) not in known.absent.get(block, ()):
                inside = self._within(each, known, snake(name), item)
                if not _is_empty(inside):
                    kept[name] = inside
            elif not _is_unset(item):
                self._skip(each, Phrase("{type} has no argument for {name}", type=known.name, name=f"{block}.{name}"))
        return kept

    def service(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the argument that publishes a version of a service."""
        return {"publish": True} if key_of("fc.version", (each.identity[0], "version")) in self._there else {}

    def function_2(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the archive of a function in a service, and the handler, which the provider requires."""
        handler = {"handler": arguments.get("handler") or _ANY_HANDLER}
        return handler if each.package is None else {**handler, "filename": _Raw(self._filename(each))}

    def function_3(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the archive of a function, and the handler, which the provider requires of custom runtimes too."""
        return {"handler": arguments.get("handler") or _ANY_HANDLER} | self.code(each, arguments)

    def code(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the archive of a function or a layer."""
        return {} if each.package is None else {"code": {"zip_file": _Raw(f"filebase64({self._filename(each)})")}}

    def layer(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the archive of a layer, and whether it is public."""
        return {"acl": arguments.get("acl", "0")} | self.code(each, arguments)

    def trigger_2(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the configuration of a trigger of a function in a service."""
        config = arguments.pop("config", {})
        return {"config_mns" if arguments.get("type") == "mns_topic" else "config": self._encoded(config)}

    def trigger_3(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the configuration of a trigger; one without a qualifier is for LATEST."""
        arguments.setdefault("qualifier", LATEST)
        return {"trigger_config": self._encoded(arguments.pop("trigger_config", {}))}

    def domain_2(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the routes of a domain, each as a block."""
        return {"route_config": (arguments.get("route_config") or {}).get("routes") or []}

    def flow(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that the provider requires; a flow without a description has an empty one."""
        return {"description": arguments.get("description") or "", "type": arguments.get("type") or "FDL"}

    def subscription(self, each: Resource, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the endpoint in the provider's form, and its kind: a queue by its name, a mail by its address."""
        endpoint = str(arguments.get("endpoint"))
        found = ((kind, pattern.fullmatch(endpoint)) for kind, pattern in _ENDPOINTS)
        kind, match = next((kind, match) for kind, match in found if match is not None)
        return {"endpoint": match[1], "push_type": kind}

    def _encoded(self, config: Any) -> _Raw:
        """Return a configuration as JSON text, with its keys in Terraform's order."""
        return _Raw(f"jsonencode({self._inline(json.loads(json.dumps(config, sort_keys=True)))})")

    def _filename(self, each: Resource) -> str:
        return f'"${{path.module}}/code/{self._archive(each)}"'

    def _body(self, arguments: Mapping[str, Any], indent: str) -> list[str]:
        lines: list[tuple[str, str]] = []
        blocks: list[str] = []
        for name, value in arguments.items():
            if isinstance(value, dict) and name not in _MAPS:
                blocks += self._block(name, value, indent)
            elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                for item in value:
                    blocks += self._block(name, item, indent)
            elif value != []:  # an empty list of blocks cannot be written
                lines.append((name, self._inline(value)))
        width = max((len(name) for name, _ in lines), default=0)
        return [*(f"{indent}{name:<{width}} = {value}" for name, value in lines), *blocks]

    def _block(self, name: str, value: Mapping[str, Any], indent: str) -> list[str]:
        inner = {snake(key): item for key, item in value.items()}
        return [f"{indent}{name} {{", *self._body(inner, indent + "  "), f"{indent}}}"]

    def _inline(self, value: Any) -> str:
        if isinstance(value, _Raw):
            return value.text
        if isinstance(value, dict):
            inside = ", ".join(f"{_quoted(str(key))} = {self._inline(item)}" for key, item in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        if isinstance(value, list):
            return f"[{', '.join(self._inline(item) for item in value)}]"
        if not isinstance(value, str):
            return json.dumps(value)
        if not has_place(value):
            return _quoted(value)
        pieces = parts(value)
        if len(pieces) == 1 and not isinstance(pieces[0], str):
            return self._expression(*pieces[0])
        inside = "".join(
            _escaped(each) if isinstance(each, str) else f"${{{self._expression(*each)}}}" for each in pieces
        )
        return f'"{inside}"'

    def _expression(self, kind: str, name: str) -> str:
        match kind:
            case "account":
                return "data.alicloud_account.current.id"
            case "region":
                return "var.region"
            case "variable":
                return f"var.{name.lower()}"
            case "layer":
                layer = self._there[key_of("fc3.layer", (name,))]
                return f"alicloud_fcv3_layer_version.{self._names.of(layer)}.layer_version_arn"
            case _:
                version, _, owner = name.partition("/")
                if version == "fc.version":
                    service = self._there.get(key_of("fc.service", (owner,)))
                    return '"LATEST"' if service is None else f"alicloud_fc_service.{self._names.of(service)}.version"
                number = self._there[key_of(version, (owner, "version"))]
                return f"alicloud_fcv3_function_version.{self._names.of(number)}.version_id"


TYPES: Mapping[str, Type] = {
    "fc.service": Type(
        "alicloud_fc_service",
        ("name",),
        _words("description internet_access role log_config vpc_config nas_config tracing_config tags"),
        written=_Configuration.service,
        absent={
            "log_config": _words("log_begin_rule"),
            "vpc_config": _words("role"),
            "mount_points": _words("enable_tls"),
        },
    ),
    "fc.function": Type(
        "alicloud_fc_function",
        ("service", "name"),
        _FUNCTION_2,
        written=_Configuration.function_2,
        absent={"custom_container_config": _words("acceleration_type instance_id web_server_mode")},
    ),
    "fc.trigger": Type(
        "alicloud_fc_trigger",
        ("service", "function", "name"),
        _words("type role source_arn config config_mns"),
        {"trigger_type": "type", "invocation_role": "role", "trigger_config": "config"},
        _Configuration.trigger_2,
    ),
    "fc.alias": Type(
        "alicloud_fc_alias",
        ("service_name", "alias_name"),
        _words("description service_version"),
        {"version_id": "service_version"},
    ),
    "fc.async": Type(
        "alicloud_fc_function_async_invoke_config",
        ("service_name", "function_name", "qualifier"),
        _words("destination_config maximum_event_age_in_seconds maximum_retry_attempts stateful_invocation"),
        _ASYNC_2,
    ),
    "fc.domain": Type(
        "alicloud_fc_custom_domain",
        ("domain_name",),
        _words("protocol route_config cert_config"),
        written=_Configuration.domain_2,
    ),
    "fc3.function": Type(
        "alicloud_fcv3_function",
        ("function_name",),
        _FUNCTION_3,
        written=_Configuration.function_3,
        absent={"vpc_config": _words("role")},
    ),
    "fc3.trigger": Type(
        "alicloud_fcv3_trigger",
        ("function_name", "trigger_name"),
        _words("description invocation_role qualifier source_arn trigger_config trigger_type"),
        written=_Configuration.trigger_3,
    ),
    "fc3.version": Type("alicloud_fcv3_function_version", ("function_name",), _words("description")),
    "fc3.alias": Type(
        "alicloud_fcv3_alias",
        ("function_name", "alias_name"),
        _words("version_id description additional_version_weight"),
    ),
    "fc3.async": Type(
        "alicloud_fcv3_async_invoke_config",
        ("function_name", "qualifier"),
        _words("async_task destination_config max_async_event_age_in_seconds max_async_retry_attempts"),
        latest_only=True,
    ),
    "fc3.provision": Type(
        "alicloud_fcv3_provision_config",
        ("function_name", "qualifier"),
        _words("always_allocate_cpu always_allocate_gpu scheduled_actions target target_tracking_policies"),
        latest_only=True,
    ),
    "fc3.concurrency": Type("alicloud_fcv3_concurrency_config", ("function_name",), _words("reserved_concurrency")),
    "fc3.domain": Type(
        "alicloud_fcv3_custom_domain",
        ("custom_domain_name",),
        _words("auth_config cert_config cors_config protocol route_config tls_config"),
    ),
    "fc3.layer": Type(
        "alicloud_fcv3_layer_version",
        ("layer_name",),
        _words("acl compatible_runtime description license"),
        written=_Configuration.layer,
    ),
    "fnf.flow": Type(
        "alicloud_fnf_flow", ("name",), _words("definition description role_arn type"), written=_Configuration.flow
    ),
    "fnf.schedule": Type("alicloud_fnf_schedule", ("flow_name", "schedule_name"), _arguments_of(SCHEDULE)),
    "mns.queue": Type("alicloud_message_service_queue", ("queue_name",), _QUEUE, {"enable_logging": "logging_enabled"}),
    "mns.topic": Type(
        "alicloud_message_service_topic", ("topic_name",), _words("max_message_size enable_logging tags")
    ),
    "mns.subscription": Type(
        "alicloud_message_service_subscription",
        ("topic_name", "subscription_name"),
        _SUBSCRIPTION,
        {"message_tag": "filter_tag"},
        _Configuration.subscription,
    ),
    "oss.bucket": Type("alicloud_oss_bucket", ("bucket",), _words("acl storage_class tags"), {"access_control": "acl"}),
    "ram.role": Type("alicloud_ram_role", ("role_name",), _arguments_of(ROLE) | {"tags"}),
    "ram.policy": Type("alicloud_ram_policy", ("policy_name",), _words("policy_document description tags")),
    "ram.attachment": Type(
        "alicloud_ram_role_policy_attachment", ("policy_type", "policy_name", "role_name"), frozenset()
    ),
}
"""The provider's type by kind; kinds without one are missing."""

TAGGED = frozenset(kind for kind, each in TYPES.items() if "tags" in each.arguments)
"""Kinds whose types have tags."""


def _identifier(text: str) -> str:
    name = re.sub("[^0-9A-Za-z]+", "_", text).strip("_").lower()
    return name if name[:1].isalpha() else f"r_{name}"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return a text escaped for a quoted HCL string."""
    return (
        json.dumps(text, ensure_ascii=False)[1:-1].replace("${", "$${").replace("%{", "%%{").replace("\x7f", "\\u007f")
    )
