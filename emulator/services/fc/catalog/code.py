"""Code packages: content-addressed on disk; read from a request or bucket, packed from a folder, offered for download.

``<digest>/`` is unpacked, ``<digest>.zip`` the original. Hashing, unpacking and packing run in one named thread, so
they never hold up the loop and never race each other. A package is unpacked into a fresh directory and renamed, so a
directory under a digest is always whole.
"""

import asyncio
import logging
import os
from binascii import a2b_base64
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.crc64 import checksum
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.services.fc import limits
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.codec import BODY, LARGE_BODY, json_body
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import Code, Function
from emulator.services.fc.ports import ObjectTooLarge, ObjectUnavailable, PackageObjects, Platform, UploadPlace
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import TEXT, record

T = TypeVar("T")

_log = logging.getLogger(__name__)

_DRAFT = ".new-"
_BASE64_PIECE = 256 * 1024


@frozen
class CodeSource:
    """Where a request says the code is: a base64 zip, or an object. ``checksum`` is what the caller computed, or empty.

    Exactly one of the two is there; `code_source` checks that.
    """

    zip_base64: str = ""
    bucket: str = ""
    object_name: str = ""
    checksum: str = ""


def decode_zip(text: str) -> bytes:
    """Decode the base64 text of a zip; line breaks are tolerated.

    It goes in pieces: one call over megabytes would keep the interpreter from the loop's thread all the while.

    Raises: InvalidArgument, also for a package that is too large.
    """
    if "\n" in text or "\r" in text:
        text = "".join(text.split())
    padding = len(text[-4:]) - len(text[-4:].rstrip("="))
    if len(text) % 4 or text.find("=", 0, len(text) - padding) >= 0:
        raise InvalidArgument("code.zipFile is not valid base64")
    try:
        pieces = [
            a2b_base64(text[at : at + _BASE64_PIECE].encode("ascii"), strict_mode=True)
            for at in range(0, len(text), _BASE64_PIECE)
        ]
    except ValueError as error:
        raise InvalidArgument(f"code.zipFile is not valid base64 ({error})") from error
    package = b"".join(pieces)
    if len(package) > limits.CODE_PACKAGE_BYTES:
        raise InvalidArgument(f"code package exceeds maximum allowed size ({limits.CODE_PACKAGE_BYTES} bytes)")
    return package


class CodeStore:
    """The content-addressed code folder. *folder* is made when the first package comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fc-code")
        self._holders = 0
        self._drafts = 0

    def path(self, code: Code) -> Path:
        """Return the directory a function's code is in."""
        return Path(code.folder) if code.folder else self._folder / code.digest

    def package(self, digest: str) -> bytes | None:
        """Return the original zip of a stored package, None when it is gone."""
        try:
            return (self._folder / f"{digest}.zip").read_bytes()
        except FileNotFoundError:
            return None

    @asynccontextmanager
    async def adding(
        self, read: Callable[[], bytes], expected_checksum: str = "", *, of_bucket: bool = False
    ) -> AsyncIterator[Code]:
        """Check and store the package that *read* returns (called in the thread).

        Until the context ends the package counts as used, though no function names it yet. An object *of_bucket* that
        is no zip is stored as well, with an empty folder in which calls find no handler. Source: terraform-provider-
        alicloud, whose tests of functions and layers name such objects; what their calls answer is assumed.

        Raises: UnsafeArchive; InvalidArgument when the package has another checksum than *expected_checksum*, or what
        *read* raises; OSError when the disk fails.
        """
        with self.held():
            yield await self.in_thread(lambda: self._store(read(), expected_checksum, of_bucket=of_bucket))

    async def keep(self, package: bytes) -> Code:
        """Store *package* for download only, without unpacking it.

        Raises: OSError.
        """

        def job() -> Code:
            digest = sha256(package).hexdigest()
            self._write_package(digest, package)
            return Code(digest=digest, checksum=checksum(package), size=len(package))

        return await self.in_thread(job)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep `remove_unused` from removing anything while the context lasts."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1

    async def unpack_missing(self, digests: Collection[str]) -> None:
        """Unpack those of the stored packages *digests* that have no directory, as after a checkpoint is restored.

        Raises: OSError.
        """
        missing = [digest for digest in digests if not (self._folder / digest).is_dir()]
        if missing:
            await self.in_thread(lambda: self._unpack_stored(missing))

    async def remove_unused(self, used: Collection[str]) -> bool:
        """Remove every package but those in *used*; False (and nothing done) while packages are held."""
        if self._holders:
            return False
        await self.in_thread(lambda: self._remove_but(frozenset(used)))
        return True

    async def idle(self) -> None:
        """Wait until the thread has finished the jobs it was given before."""
        await self.in_thread(lambda: None)

    async def in_thread(self, job: Callable[[], T]) -> T:
        """Run *job* in the thread of this store."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    async def close(self) -> None:
        """Finish the jobs that the thread was given, and end it."""
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)

    def _store(self, package: bytes, expected_checksum: str, *, of_bucket: bool) -> Code:
        computed = checksum(package)
        if expected_checksum and expected_checksum != computed:
            raise InvalidArgument(f"code checksum is {computed}, the request says '{expected_checksum[:40]}'")
        digest = sha256(package).hexdigest()
        if not (self._folder / digest).is_dir():
            self._unpack(digest, package, of_bucket=of_bucket)
        self._write_package(digest, package)
        return Code(digest=digest, checksum=computed, size=len(package))

    def _unpack_stored(self, digests: Iterable[str]) -> None:
        for digest in digests:
            package = self.package(digest)
            if package is not None:
                self._unpack(digest, package, of_bucket=True)

    def _unpack(self, digest: str, package: bytes, *, of_bucket: bool) -> None:
        from emulator.services.fc.catalog import archive  # its imports are slow and not always needed

        draft = self._draft()
        if of_bucket and not archive.is_zip(package):
            _log.warning(
                "a code package of %d bytes from a bucket is not a zip file; calls will find no handler in it",
                len(package),
            )
            draft.mkdir(parents=True)
        else:
            archive.unpack(package, draft)
        draft.rename(self._folder / digest)

    def _write_package(self, digest: str, package: bytes) -> None:
        final = self._folder / f"{digest}.zip"
        if final.is_file() and final.stat().st_size == len(package):
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._draft()
        draft.write_bytes(package)
        draft.rename(final)

    def _draft(self) -> Path:
        """Return a name nothing has; the process number keeps a second emulator on a shared folder apart."""
        self._drafts += 1
        return self._folder / f"{_DRAFT}{os.getpid()}-{self._drafts}"

    def _remove_but(self, used: frozenset[str]) -> None:
        import shutil  # pulls in every compression module

        try:
            entries = list(self._folder.iterdir())
        except FileNotFoundError:
            return
        for entry in entries:
            if entry.name.removesuffix(".zip") in used:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


async def large_body(codes: CodeStore, call: OperationRequest) -> dict[str, Any]:
    """Return the JSON object in a body that may hold a code package; large ones are parsed in the thread of *codes*.

    Raises: as `json_body`.
    """
    if call.document is not None or len(call.http.body) < LARGE_BODY:
        return json_body(call)
    return await codes.in_thread(lambda: json_body(call))


_read_code = BODY.reader(record(zipFile=TEXT, ossBucketName=TEXT, ossObjectName=TEXT, checksum=TEXT))


def code_source(body: Mapping[str, Any], checksum_header: str = "") -> CodeSource | None:
    """Return where the code is, None when the body has none; the checksum comes from the header or from the body.

    Raises: InvalidArgument unless exactly one of zip and object is given.
    """
    content = next((value for key, value in body.items() if key.lower() == "code"), None)
    if content is None:
        return None
    code = _read_code(content, "code")
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


class Download(NamedTuple):
    """A package that is downloaded, and its CRC-64 as decimal text."""

    content: bytes
    checksum: str


class Packages:
    """Reads, packs and hands out packages; without *objects* code cannot come from a bucket."""

    def __init__(self, codes: CodeStore, clock: Clock, ids: Ids, objects: PackageObjects | None) -> None:
        self._codes = codes
        self._clock = clock
        self._ids = ids
        self._objects = objects
        self._downloads: dict[str, tuple[Code, Millis]] = {}

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
        except ObjectUnavailable as error:
            raise InvalidArgument(f"code from the bucket '{source.bucket}' cannot be read: {error}") from None
        return lambda: package

    async def upload_place(self, tenant: Tenant) -> UploadPlace:
        """Return where a client may put a package that is too large for a request.

        Raises: InvalidArgument when there is no object storage.
        """
        try:
            if self._objects is not None:
                return await self._objects.upload_place(tenant)
        except ObjectUnavailable as error:
            raise InvalidArgument(f"no bucket can be lent for code: {error}") from None
        raise InvalidArgument("no bucket can be lent for code: this emulator runs without object storage")

    async def of_function(self, function: Function) -> Code:
        """Return a function's package. Code of the functions folder is packed for it.

        Raises: InvalidArgument when the function has no code (custom-container).
        """
        if function.code is None:
            raise InvalidArgument(f"function '{function.name}' runs a container image and has no code package")
        return await self.packed(function) if function.code.folder else function.code

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
            from emulator.services.fc.catalog.archive import pack  # zipfile is slow to import and rarely needed

            return pack(folder, leave_out)

        try:
            return await self._codes.keep(await self._codes.in_thread(pack_folder))
        except OSError as error:
            raise InvalidArgument(f"the code in {folder} cannot be read: {error.strerror or error}") from error


_REMOVAL = ("fc", "unused code")


class UnusedPackages:
    """Removes the packages that no function or layer names and that are not offered for download."""

    def __init__(self, platform: Platform, store: CatalogStore, codes: CodeStore, packages: Packages) -> None:
        self._database = platform.database
        self._clock = platform.clock
        self._timers = platform.timers
        self._store = store
        self._codes = codes
        self._packages = packages
        self._tasks = TaskGroup("fc-unused-code")

    def remove_later(self, delay_s: int = limits.CODE_KEPT_AFTER_USE_S) -> None:
        """Schedule `remove` in *delay_s* seconds; by default calls that still run the code have time to end."""
        self._timers.call_at(Millis(self._clock.now() + delay_s * SECOND), _REMOVAL, self._remove_now)

    def _remove_now(self) -> None:
        self._tasks.spawn(self.remove(), "remove")

    async def remove(self) -> None:
        """Remove them after the transaction of this moment, or later when a package is held."""
        await self._database.committed()
        if not await self._codes.remove_unused(self._store.digests() | set(self._packages.offered())):
            self.remove_later()

    async def suspend(self) -> None:
        """End the removal under way; none begins before `remove_later`. Rows and files are about to be replaced."""
        await self.close()
        await self._codes.idle()

    async def close(self) -> None:
        """Begin no removal."""
        self._timers.cancel(_REMOVAL)
        await self._tasks.close()
