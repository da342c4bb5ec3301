"""The kinds of resources that pages can create, change and delete, a row each, over the providers of deployments."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from emulator.console.forms import FormRefused
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Resource
from emulator.deploy.provider import ActualState, ApiClient
from emulator.kernel.frozen import frozen
from emulator.oss.model import BUCKET_ACLS, STORAGE_CLASSES
from emulator.services.fc.catalog.alias_fields import ALIAS_2023
from emulator.services.fc.catalog.fields import DESCRIPTION, FUNCTION_2, FUNCTION_3
from emulator.services.fc.triggers.model import KINDS as TRIGGER_KINDS
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC
from emulator.services.ram.model import ROLE
from emulator.services.workflow.model import SCHEDULE
from emulator.wire.schema.kinds import JSON_TEXT, Field, OneOf, Shape

RPC, BODY = "rpc", "body"
"""The forms in which the services' operations name attributes: parameters of RPC, members of JSON bodies."""

BUCKET = Shape(
    "Bucket",
    (
        Field(
            "AccessControl",
            "acl",
            OneOf(BUCKET_ACLS),
            default="private",
            help=("access without a signature", "不带签名时的访问权限"),
        ),
        Field(
            "StorageClass",
            "storage_class",
            OneOf(STORAGE_CLASSES),
            default="Standard",
            fixed=True,
            help=("the storage class; stored, without effect", "存储类型；保存，不起作用"),
        ),
    ),
)
TRIGGER = Shape(
    "Trigger",
    (
        Field(
            "triggerType",
            "kind",
            OneOf(TRIGGER_KINDS),
            required=True,
            fixed=True,
            help=("type of the trigger", "触发器类型"),
        ),
        Field(
            "triggerConfig",
            "config",
            JSON_TEXT,
            required=True,
            help=(
                'JSON: {"cronExpression": "0 0 3 * * *", "enable": true} of a timer, '
                '{"authType": "anonymous", "methods": ["GET"]} of http',
                'JSON：定时触发器 {"cronExpression": "0 0 3 * * *", "enable": true}，'
                'HTTP 触发器 {"authType": "anonymous", "methods": ["GET"]}',
            ),
        ),
        Field(
            "sourceArn",
            "source_arn",
            fixed=True,
            help=("ARN of the bucket or topic that is the event source", "作为事件源的存储空间或主题的 ARN"),
        ),
        Field(
            "invocationRole",
            "role",
            help=("role that the trigger assumes to call the function", "触发器调用函数时扮演的角色"),
        ),
        Field("qualifier", "qualifier", help=("version or alias to call", "要调用的版本或别名")),
        DESCRIPTION,
    ),
)
VERSION = Shape("Version", (DESCRIPTION,))
ALIAS = ALIAS_2023.without("additionalVersionWeight")
"""Without the weights, which have a control of their own."""


@frozen(kw_only=False)
class Kind:
    """A kind of resource: its provider, the provider for one inside a service, its shape, form and names.

    ``names`` are the parts of its identity; the last is the resource's own, those before belong to its parents.
    """

    provider: str
    of_service: str
    shape: Shape
    form: str
    names: tuple[str, ...]

    def provider_of(self, identity: tuple[str, ...]) -> Any:
        """Return the provider of a resource with that identity."""
        return PROVIDERS[self.of_service if len(identity) > len(self.names) else self.provider]

    def shape_of(self, identity: tuple[str, ...]) -> Shape:
        """Return the attributes of a resource with that identity."""
        return FUNCTION_2 if self.provider_of(identity) is PROVIDERS["fc.function"] else self.shape


KINDS: Mapping[str, Kind] = {
    "queue": Kind("mns.queue", "", QUEUE, RPC, ("queue",)),
    "topic": Kind("mns.topic", "", TOPIC, RPC, ("topic",)),
    "subscription": Kind("mns.subscription", "", SUBSCRIPTION, RPC, ("topic", "subscription")),
    "schedule": Kind("fnf.schedule", "", SCHEDULE, RPC, ("flow", "schedule")),
    "role": Kind("ram.role", "", ROLE, RPC, ("role",)),
    "bucket": Kind("oss.bucket", "", BUCKET, BODY, ("bucket",)),
    "function": Kind("fc3.function", "fc.function", FUNCTION_3, BODY, ("function",)),
    "trigger": Kind("fc3.trigger", "fc.trigger", TRIGGER, BODY, ("function", "trigger")),
    "alias": Kind("fc3.alias", "fc.alias", ALIAS, BODY, ("function", "alias")),
}


def present(kind: Kind, identity: tuple[str, ...], api: ApiClient) -> dict[str, Any]:
    """Return a resource as the API shows it. Raises: ServiceError."""
    return dict(kind.provider_of(identity).show(api, identity, {}) or {})


def make(
    kind: Kind, identity: tuple[str, ...], properties: Mapping[str, Any], api: ApiClient, package: bytes | None = None
) -> None:
    """Create a resource. Raises: ServiceError."""
    kind.provider_of(identity).create(api, _resource(kind, identity, properties, package))


def change(
    kind: Kind, identity: tuple[str, ...], properties: Mapping[str, Any], api: ApiClient, package: bytes | None = None
) -> None:
    """Change a resource; what *properties* leave out stays. Raises: ServiceError."""
    resource = _resource(kind, identity, properties, package)
    kind.provider_of(identity).update(api, resource, ActualState(present(kind, identity, api)))


def remove(kind: Kind, identity: tuple[str, ...], api: ApiClient) -> None:
    """Delete a resource. Raises: ServiceError."""
    kind.provider_of(identity).remove(api, identity, {})


def _resource(kind: Kind, identity: tuple[str, ...], properties: Mapping[str, Any], package: bytes | None) -> Resource:
    what = kind.shape.title
    return Resource(
        logical=identity[-1], type=what, kind=kind.provider, identity=identity, properties=properties, package=package
    )


_ENDINGS = {"python": "py", "nodejs": "js", "php": "php"}


def package_of(text: str, runtime: str, handler: str) -> bytes:
    """Return the zip of a function whose code is one file, named as the handler requires.

    Raises: FormRefused for a runtime whose code is not a single file.
    """
    ending = next((ending for name, ending in _ENDINGS.items() if runtime.startswith(name)), "")
    module = handler.rpartition(".")[0]
    if not ending or not module:
        raise FormRefused("Code in one file works for Python, Node.js and PHP. Choose a zip file instead.")
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr(f"{module}.{ending}", text.replace("\r\n", "\n"))
    return packed.getvalue()
