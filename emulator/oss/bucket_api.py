"""Operations on the account and on buckets: parse, call, render."""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

from emulator.http.message import Response
from emulator.oss import limits, wire
from emulator.oss.call import Call
from emulator.oss.errors import InvalidArgument, MethodNotAllowed, NoConfiguration
from emulator.oss.forms import post_object
from emulator.oss.model import BUCKET_ACLS, STORAGE_CLASSES, StoredObject
from emulator.oss.objects import Objects
from emulator.oss.storage import ObjectStorage
from emulator.oss.wire import Listing, Naming
from emulator.wire.multipart import is_form
from emulator.wire.xml import Element

UNSET = {
    "lifecycle": ("NoSuchLifecycle", "lifecycle configuration"),
    "cors": ("NoSuchCORSConfiguration", "CORS configuration"),
    "website": ("NoSuchWebsiteConfiguration", "website configuration"),
    "policy": ("NoSuchBucketPolicy", "bucket policy"),
    "encryption": ("NoSuchServerSideEncryptionRule", "server side encryption rule"),
    "replication": ("NoSuchReplicationConfiguration", "bucket replication configuration"),
    "worm": ("NoSuchWORMConfiguration", "WORM configuration"),
}
"""Settings that cannot be made here, and what asking for one is answered with: it was never made."""

EMPTY = {
    "versioning": Element("VersioningConfiguration"),
    "logging": Element("BucketLoggingStatus"),
    "tagging": Element("Tagging", children=[Element("TagSet")]),
}
"""The same for settings whose absence is an empty document."""


class BucketApi:
    """What is asked of the account and of its buckets."""

    def __init__(self, storage: ObjectStorage, objects: Objects) -> None:
        self._storage = storage
        self._objects = objects

    # --- the account -----------------------------------------------------------------------------------------------

    async def list_buckets(self, call: Call) -> Response:
        """List the account's buckets."""
        prefix, marker = call.query.get("prefix", ""), call.query.get("marker", "")
        limit = call.number("max-keys", limits.PAGE_DEFAULT, limits.PAGE, least=1)
        found = [
            bucket
            for bucket in await self._storage.buckets(call.caller)
            if bucket.name.startswith(prefix) and bucket.name > marker
        ]
        more = found[limit - 1].name if len(found) > limit else ""
        return wire.document(wire.buckets(call.caller.account, found[:limit], prefix, marker, limit, more))

    # --- buckets ---------------------------------------------------------------------------------------------------

    async def create(self, call: Call) -> Response:
        """Make a bucket."""
        acl = call.one_of("x-oss-acl", BUCKET_ACLS)
        storage_class, region = "", ""
        if call.request.body.strip():
            settings = call.document("CreateBucketConfiguration")
            storage_class = (settings.text_of("StorageClass") or "").strip()
            region = (settings.text_of("LocationConstraint") or "").strip().removeprefix("oss-")
        if storage_class and storage_class not in STORAGE_CLASSES:
            raise InvalidArgument(name="StorageClass", value=storage_class[:100])
        name = call.place.bucket
        bucket = await self._storage.create_bucket(call.caller, name, acl, storage_class or "Standard", region)
        return Response(200, b"", [("Location", f"/{bucket.name}")])

    async def delete(self, call: Call) -> Response:
        """Remove a bucket."""
        await self._storage.delete_bucket(call.caller, call.place.bucket)
        return Response(204)

    async def info(self, call: Call) -> Response:
        """Tell all about a bucket."""
        _, bucket = await self._storage.bucket(call.caller, call.place.bucket)
        return wire.document(wire.bucket_info(bucket))

    async def stat(self, call: Call) -> Response:
        """Tell how much a bucket holds."""
        size, objects, uploads = await self._storage.totals(call.caller, call.place.bucket)
        return wire.document(wire.bucket_stat(size, objects, uploads, call.context.now))

    async def location(self, call: Call) -> Response:
        """Tell where a bucket is."""
        _, bucket = await self._storage.bucket(call.caller, call.place.bucket)
        return wire.document(wire.text("LocationConstraint", f"oss-{bucket.region}"))

    async def acl(self, call: Call) -> Response:
        """Tell who may read and write a bucket."""
        _, bucket = await self._storage.bucket(call.caller, call.place.bucket)
        return wire.document(wire.grant(bucket.account, bucket.acl))

    async def set_acl(self, call: Call) -> Response:
        """Set who may read and write a bucket."""
        acl = call.one_of("x-oss-acl", BUCKET_ACLS)
        if not acl:
            raise InvalidArgument("the header x-oss-acl is missing", name="x-oss-acl", value="")
        await self._storage.set_bucket_acl(call.caller, call.place.bucket, acl)
        return Response(200)

    async def unset(self, call: Call) -> Response:
        """Tell that a setting was never made."""
        await self._storage.bucket(call.caller, call.place.bucket)
        for name, document in EMPTY.items():
            if name in call.query:
                return wire.document(document)
        code, setting = next(what for name, what in UNSET.items() if name in call.query)
        raise NoConfiguration(code, setting)

    # --- lists of objects ------------------------------------------------------------------------------------------

    async def list_objects(self, call: Call) -> Response:
        """List objects, in the second form when the query says so."""
        if call.query.get("list-type") == "2":
            return await self._list_v2(call)
        asked = await self._listing(call, call.query.get("marker", ""))
        page, more = await self._page(call, asked, asked.after)
        return wire.document(wire.objects_v1(asked, page, more))

    async def _list_v2(self, call: Call) -> Response:
        asked = await self._listing(call, call.query.get("start-after", ""))
        token = call.query.get("continuation-token", "")
        page, more = await self._page(call, asked, _name_of(token) if token else asked.after)
        owned = call.query.get("fetch-owner") == "true"
        return wire.document(wire.objects_v2(asked, page, token, _token_of(more), owned=owned))

    async def _listing(self, call: Call, after: str) -> Listing:
        _, bucket = await self._storage.bucket(call.caller, call.place.bucket)
        return Listing(
            bucket=bucket,
            prefix=call.query.get("prefix", ""),
            delimiter=call.query.get("delimiter", ""),
            after=after,
            limit=call.number("max-keys", limits.PAGE_DEFAULT, limits.PAGE, least=1),
            naming=Naming(call.query.get("encoding-type", "")),
        )

    async def _page(self, call: Call, asked: Listing, after: str) -> tuple[list[StoredObject | str], str]:
        found = await self._objects.listed(call.caller, asked.bucket.name, asked.prefix, asked.delimiter, after)
        page = found[: asked.limit]
        last = page[-1] if len(found) > asked.limit else ""
        return page, last.key if isinstance(last, StoredObject) else last

    async def post_object(self, call: Call) -> Response:
        """Make an object of an upload form."""
        if not is_form(call.header("content-type")):
            raise MethodNotAllowed
        return await post_object(self._objects, call)

    async def delete_objects(self, call: Call) -> Response:
        """Remove up to a thousand objects."""
        call.check_md5()
        keys, quiet = wire.read_deletion(call.document("Delete"))
        await self._objects.delete(call.caller, call.place.bucket, keys, "ObjectRemoved:DeleteObjects")
        if quiet:
            return Response(200)
        return wire.document(wire.deleted(keys, Naming(call.query.get("encoding-type", ""))))


def _token_of(name: str) -> str:
    return b2a_base64(name.encode("utf-8", "surrogateescape"), newline=False).decode("ascii")


def _name_of(token: str) -> str:
    try:
        return a2b_base64(token.encode("ascii"), strict_mode=True).decode("utf-8", "surrogateescape")
    except (Base64Error, UnicodeEncodeError):
        raise InvalidArgument(
            "The continuation token provided is incorrect.", name="continuation-token", value=token[:100]
        ) from None
