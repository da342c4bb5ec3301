"""Packages on their way in and out: read from a request or a bucket, packed from a folder, offered for download."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc import limits
from emulator.services.fc.attributes import TEXT, Shape
from emulator.services.fc.code.store import CodeSource, CodeStore, decode_zip
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import Code, Function
from emulator.services.fc.ports import (
    ObjectMissing,
    ObjectReader,
    ObjectsUnavailable,
    ObjectTooLarge,
    UploadPlace,
    Uploads,
)

_CODE = Shape(zipFile=TEXT, ossBucketName=TEXT, ossObjectName=TEXT, checksum=TEXT)


def code_source(body: Mapping[str, Any], checksum_header: str = "") -> CodeSource | None:
    """Return where the code is, None when the body has none; the checksum comes from the header or from the body.

    Raises: InvalidArgument unless exactly one of zip and object is given.
    """
    given = next((value for key, value in body.items() if key.lower() == "code"), None)
    if given is None:
        return None
    code = _CODE(given, "code")
    package = code.get("zipFile", "")
    bucket, name = code.get("ossBucketName", ""), code.get("ossObjectName", "")
    if not package and not bucket and not name:
        return None
    if package and (bucket or name):
        raise InvalidArgument("code must have either zipFile or ossBucketName and ossObjectName, not both")
    if not package and not (bucket and name):
        raise InvalidArgument("code.ossBucketName and code.ossObjectName must be given together")
    checksum = checksum_header.strip() or code.get("checksum", "")
    return CodeSource(zip_base64=package, bucket=bucket, object_name=name, checksum=checksum)


class CodeLocation(NamedTuple):
    """A package to download: the token of its path, and its checksum."""

    token: str
    checksum: str


class Download(NamedTuple):
    """A package that is downloaded, and its CRC-64 as decimal text."""

    content: bytes
    checksum: str


class Packages:
    """Reads, packs and hands out packages; without *objects* code cannot come from a bucket."""

    def __init__(
        self, codes: CodeStore, clock: Clock, ids: Ids, objects: ObjectReader | None, uploads: Uploads | None = None
    ) -> None:
        self._uploads = uploads
        self._codes = codes
        self._clock = clock
        self._ids = ids
        self._objects = objects
        self._downloads: dict[str, tuple[Code, Millis]] = {}

    # --- in ------------------------------------------------------------------------------------------------------

    async def reader(self, tenant: Tenant, source: CodeSource) -> Callable[[], bytes]:
        """Return a function that returns the package *source* names; call it in the thread of the code store.

        Raises: InvalidArgument.
        """
        if not source.bucket:
            return lambda: decode_zip(source.zip_base64)
        if self._objects is None:
            raise InvalidArgument(
                f"code from the bucket '{source.bucket}' cannot be read: this emulator runs without object storage"
            )
        try:
            package = await self._objects.read(tenant, source.bucket, source.object_name, limits.CODE_OBJECT_BYTES)
        except ObjectTooLarge:
            raise InvalidArgument(
                f"code package exceeds maximum allowed size ({limits.CODE_OBJECT_BYTES} bytes)"
            ) from None
        except (ObjectMissing, ObjectsUnavailable) as error:
            raise InvalidArgument(f"code from the bucket '{source.bucket}' cannot be read: {error}") from None
        return lambda: package

    async def upload_place(self, tenant: Tenant) -> UploadPlace:
        """Return where a client may put a package that is too large for a request.

        Raises: InvalidArgument when there is no object storage.
        """
        try:
            if self._uploads is not None:
                return await self._uploads.place(tenant)
        except ObjectsUnavailable as error:
            raise InvalidArgument(f"no bucket can be lent for code: {error}") from None
        raise InvalidArgument("no bucket can be lent for code: this emulator runs without object storage")

    # --- out -----------------------------------------------------------------------------------------------------

    async def locate(self, function: Function) -> CodeLocation:
        """Offer a function's package for download. Code of the functions folder is packed for it.

        Raises: InvalidArgument when the function has no code (custom-container).
        """
        if function.code is None:
            raise InvalidArgument(f"function '{function.name}' runs a container image and has no code package")
        package = await self.packed(function) if function.code.folder else function.code
        return CodeLocation(token=self.offer(package), checksum=package.checksum)

    def offer(self, package: Code) -> str:
        """Make a stored package available for download for some minutes and return the token of its address."""
        now = self._clock.now()
        self._downloads = {token: kept for token, kept in self._downloads.items() if kept[1] > now}
        token = self._ids.secret(24).hex()
        self._downloads[token] = (package, Millis(now + limits.CODE_URL_LIFE_S * SECOND))
        return token

    def download(self, token: str) -> Download | None:
        """Return the package behind a token of `offer`, None when the token is unknown or has expired."""
        offered = self._downloads.get(token)
        if offered is None or offered[1] <= self._clock.now():
            return None
        content = self._codes.package(offered[0].digest)
        return None if content is None else Download(content, offered[0].checksum)

    def offered(self) -> Iterable[str]:
        """Return the digests of the packages that are offered for download."""
        return [package.digest for package, _ in self._downloads.values()]

    async def packed(self, function: Function) -> Code:
        """Pack code that is used in place and keep the package; return where it is.

        Raises: InvalidArgument when the folder cannot be read.
        """
        folder = Path(function.folder)
        leave_out = frozenset() if function.service else frozenset({"versions"})

        def pack_folder() -> bytes:
            from emulator.services.fc.code.archive import pack  # zipfile is slow to import and rarely needed

            return pack(folder, leave_out)

        try:
            return await self._codes.keep(await self._codes.in_thread(pack_folder))
        except OSError as error:
            raise InvalidArgument(f"the code in {folder} cannot be read: {error.strerror or error}") from error
