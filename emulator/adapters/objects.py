"""Objects for functions and flows: code read from buckets, changes of objects that fire triggers, tasks that read."""

import base64
import json
from typing import TYPE_CHECKING, Any

from emulator.adapters.roles import DEFAULT_ROLE, credentials_of
from emulator.kernel.clock import Clock
from emulator.kernel.frozen import fields_of
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Interference
from emulator.oss.errors import DIALECT, OssError, subject
from emulator.oss.service import LazyStorage
from emulator.services.fc.limits import UPLOAD_KEYS_LIFE_S
from emulator.services.fc.ports import ObjectTooLarge, ObjectUnavailable, UploadPlace
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.triggers.events import ObjectChange
from emulator.services.sts.service import TemporaryKeys
from emulator.services.workflow.ports import ObjectReply, ObjectResource, Refusal
from emulator.wire.dates import iso_millis

if TYPE_CHECKING:
    from emulator.oss.model import Caller, Change


_UNREADABLE = {
    "NoSuchBucket": "the bucket '{bucket}' does not exist",
    "NoSuchKey": "the object '{name}' in the bucket '{bucket}' does not exist",
    "InvalidArgument": "the object '{name}' in the bucket '{bucket}' does not exist",
    "WrongEndpoint": "the bucket '{bucket}' is not in the region {region}",
    "AccessDenied": "the bucket '{bucket}' does not belong to you",
    "ExtraMissing": "{message}",
}
"""The reason why a package cannot be read, by the object store's error."""


class CodeObjects:
    """Code packages in buckets (the port `PackageObjects` of Function Compute)."""

    def __init__(self, storage: LazyStorage, temporary: TemporaryKeys, clock: Clock, ids: Ids) -> None:
        self._storage = storage
        self._temporary = temporary
        self._clock = clock
        self._ids = ids

    async def read(self, tenant: Tenant, bucket: str, name: str, limit: int) -> bytes:
        """Return the content of an object of at most *limit* bytes.

        The bucket has to be in the function's region, as in the cloud.

        Raises: ObjectTooLarge, ObjectUnavailable.
        """
        storage = await self._storage.storage()
        from emulator.oss.model import Place  # loaded with the operations
        from emulator.oss.objects import get

        caller = _caller(tenant, self._clock, self._ids)
        try:
            stored = await get(storage, caller, Place(bucket, name))
        except OssError as error:
            if error.name not in _UNREADABLE:
                raise
            text = _UNREADABLE[error.name]
            raise ObjectUnavailable(
                text.format(bucket=bucket, name=name, region=tenant.region, message=error.message)
            ) from None
        if stored.size > limit:
            raise ObjectTooLarge(stored.size)
        return await storage.contents.read(stored.pieces)

    async def upload_place(self, tenant: Tenant) -> UploadPlace:
        """Return the account's bucket for packages, made with its first use, and keys for an hour.

        Where permissions are enforced the keys have the rights of the functions' default role to the bucket.

        Raises: ObjectUnavailable.
        """
        storage = await self._storage.storage()
        now = self._clock.now()
        caller = _caller(tenant, self._clock, self._ids)
        bucket = f"localyun-code-{tenant.region}-{tenant.account}"
        try:
            await storage.create_bucket(caller, bucket, "", "Standard", tenant.region)
        except OssError as error:
            raise ObjectUnavailable(error.message) from None
        statement = {
            "Effect": "Allow", "Action": "oss:PutObject", "Resource": f"acs:oss:*:{tenant.account}:{bucket}/*",
        }  # fmt: skip
        policy = json.dumps({"Version": "1", "Statement": [statement]})
        keys = self._temporary.issue(
            tenant.account, DEFAULT_ROLE, "code-upload", UPLOAD_KEYS_LIFE_S, now, policy=policy
        )
        return UploadPlace(
            bucket=bucket, region=tenant.region, credentials=credentials_of(keys), expires_at=keys.expiration
        )


class FlowObjects:
    """Reads objects for flows (the port `ObjectReader` of the workflow service).

    Source: OSS integration, CloudFlow documentation, for parameters and the first two members of the reply; the other
    members are assumed.
    """

    def __init__(self, storage: LazyStorage, clock: Clock, ids: Ids, interference: Interference) -> None:
        self._storage = storage
        self._clock = clock
        self._ids = ids
        self._interference = interference

    async def read(self, tenant: Tenant, target: ObjectResource, parameters: dict[str, str], limit: int) -> ObjectReply:
        """Read an object of at most *limit* bytes: ``bucket``, ``key``, its attributes, and ``body``.

        The body is text, or Base64 when it is no UTF-8; ``isBase64Encoded`` says which.
        """
        meant = subject("GetObject", target.bucket, target.name, "flow")
        try:
            async with self._interference.around(meant, DIALECT):
                members = await self._members(tenant, target, parameters, limit)
        except OssError as error:
            return ObjectReply(members={}, refusal=Refusal(error.http_status, error.code, error.message))
        return ObjectReply(members=members)

    async def _members(
        self, tenant: Tenant, target: ObjectResource, parameters: dict[str, str], limit: int
    ) -> dict[str, Any]:
        storage = await self._storage.storage()
        from emulator.oss.model import Conditions, Place, Span, span_of  # loaded with the operations
        from emulator.oss.objects import get

        conditions = Conditions(
            match=parameters.get("ifMatch", "").strip('"'), none_match=parameters.get("ifNoneMatch", "").strip('"')
        )
        caller = _caller(tenant, self._clock, self._ids)
        stored = await get(storage, caller, Place(target.bucket, target.name), conditions)
        text = parameters.get("range")
        span = (span_of(text, stored.size, standard=False) if text else None) or Span(0, stored.size)
        if len(span) > limit:
            raise OssError("EntityTooLarge", f"The object has more than {limit} bytes, the most a state can hold.")
        content = await storage.contents.read(stored.pieces, span)
        try:
            body, encoded = content.decode(), False
        except UnicodeDecodeError:
            body, encoded = base64.b64encode(content).decode("ascii"), True
        return {
            "bucket": target.bucket,
            "key": target.name,
            "etag": stored.etag,
            "contentLength": len(content),
            "lastModified": iso_millis(stored.modified_at),
            "body": body,
            "isBase64Encoded": encoded,
        }


def _caller(tenant: Tenant, clock: Clock, ids: Ids) -> "Caller":
    from emulator.oss.model import Caller  # loaded with the operations

    return Caller(
        account=tenant.account, region=tenant.region, principal=tenant.account,
        request_id=ids.hex(24).upper(), source_ip="127.0.0.1", now=clock.now(),
    )  # fmt: skip


class TriggerBuckets:
    """The buckets that triggers name (the port `SourceBuckets` of Function Compute)."""

    def __init__(self, storage: LazyStorage) -> None:
        self._storage = storage

    def exists(self, tenant: Tenant, bucket: str) -> bool:
        """Whether the tenant has such a bucket."""
        return self._storage.has_bucket(tenant, bucket)


class ObjectTriggers:
    """Notifies Function Compute of changes of objects (the port `Watcher` of the object store)."""

    def __init__(self, functions: FunctionCompute) -> None:
        self._functions = functions

    def changed(self, tenant: Tenant, change: "Change") -> None:
        """Queue the calls of the triggers that *change* fires, in its transaction."""
        same = {each.name: getattr(change, each.name) for each in fields_of(ObjectChange)}
        self._functions.sources.object_changed(tenant, ObjectChange(**same))
