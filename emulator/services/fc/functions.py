"""Functions of every generation: create, get, update, delete, list, download of the code."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc import checks, limits
from emulator.services.fc.code import CodeSource, CodeStore, decode_zip
from emulator.services.fc.effects import Effects, family
from emulator.services.fc.errors import (
    FunctionAlreadyExists,
    InvalidArgument,
    ServiceNotFound,
    VersionNotFound,
)
from emulator.services.fc.fields import check_together
from emulator.services.fc.model import CUSTOM_CONTAINER, Code, Function, FunctionConfig, scope_of
from emulator.services.fc.ports import ObjectMissing, ObjectReader, ObjectsUnavailable, ObjectTooLarge
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.store import Slice, Store
from emulator.services.fc.versions import check_if_match


class CodeLocation(NamedTuple):
    """A package to download: the token of its path, and its checksum."""

    token: str
    checksum: str


class Functions:
    """The functions of every account; ``service`` is empty for those of 3.0 in every method."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        codes: CodeStore,
        effects: Effects,
        resolver: Resolver,
        objects: ObjectReader | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._codes = codes
        self._effects = effects
        self._resolver = resolver
        self._objects = objects
        self._downloads: dict[str, tuple[str, Millis]] = {}
        self.check_layers: Callable[[Tenant, Iterable[str]], None] = lambda tenant, arns: None
        self.check_deletable: Callable[[Tenant, str, str], None] = lambda tenant, service, name: None
        self.forget: Callable[[Tenant, str, str], None] = lambda tenant, service, name: None
        effects.kept_for_download = self._kept_for_download

    # --- create, get, list ---------------------------------------------------------------------------------------

    async def create(
        self,
        tenant: Tenant,
        service: str,
        name: object,
        values: Mapping[str, Any],
        source: CodeSource | None,
        now: Millis,
        tags: Mapping[str, str] | None = None,
    ) -> Function:
        """Make a function from checked attribute *values* and its code.

        Raises: InvalidArgument, ServiceNotFound, FunctionAlreadyExists.
        """
        name = checks.name(name, "functionName", limits.FUNCTION_NAME_LENGTH)
        if "runtime" not in values:
            raise InvalidArgument("runtime is required")
        config = FunctionConfig(**{"handler": "", **values})
        check_together(config)
        self.check_layers(tenant, config.layers)
        self._check_free(tenant, service, name)
        async with self._stored(tenant, config, source) as code:
            if code is None and config.runtime != CUSTOM_CONTAINER:
                raise InvalidArgument("code is required")
            self._check_free(tenant, service, name)  # storing the code took time
            function = Function(
                service=service,
                name=name,
                function_id=self._ids.uuid(),
                config=config,
                code=code,
                created_at=now,
                modified_at=now,
            )
            self._store.put_function(tenant, function)
            if tags:
                self._store.put_tags(tenant, f"functions/{name}", tags)
        return function

    def get(self, tenant: Tenant, service: str, name: str, qualifier: str | None = None) -> Function:
        """Return a function as *qualifier* has it.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        return self._resolver.function(tenant, service, name, qualifier)

    def page(self, tenant: Tenant, service: str, qualifier: str | None, part: Slice) -> Page[Function]:
        """Return functions by name: those of a service as *qualifier* has it, or the 3.0 functions.

        Raises: ServiceNotFound, VersionNotFound, AliasNotFound.
        """
        number = 0
        if service:
            scope = scope_of(service, "")
            if self._store.service(tenant, service) is None:
                raise ServiceNotFound(service=service)
            number = self._resolver.number(tenant, scope, qualifier)
            if number and self._store.version(tenant, scope, number) is None:
                raise VersionNotFound(version=number, owner=scope)
        rows = self._store.functions(tenant, service, number, part)
        return cut(rows, part.limit, lambda function: function.name)

    # --- update, delete ------------------------------------------------------------------------------------------

    async def update(
        self,
        tenant: Tenant,
        service: str,
        name: str,
        values: Mapping[str, Any],
        source: CodeSource | None,
        if_match: str,
        now: Millis,
    ) -> Function:
        """Change the attributes in *values* and the code when *source* is given; the rest stays.

        Warm instances of the head retire after the calls they are in. For a function of the folder the values are laid
        over what its files say; its code is changed in the folder only.

        Raises: FunctionNotFound, ServiceNotFound, PreconditionFailed, InvalidArgument.
        """
        function = self._changeable(tenant, service, name, if_match, source)
        self.check_layers(tenant, set(values.get("layers", ())) - set(function.config.layers))
        async with self._stored(tenant, replace(function.config, **values), source) as code:
            # storing the code took time: what is changed is the function as it is now
            function = self._changeable(tenant, service, name, if_match, source)
            config = replace(function.config, **values)
            check_together(config)
            code = code or function.code
            if code is None and config.runtime != CUSTOM_CONTAINER:
                raise InvalidArgument(f"code is required for the runtime {config.runtime}")
            changed = replace(
                function,
                config=config,
                code=code,
                changed={**function.changed, **values} if function.folder else {},
                modified_at=now,
                revision=function.revision + 1,
            )
            self._store.put_function(tenant, changed)
        self._effects.retire([family(tenant, service, name, 0)])
        if source is not None:
            self._effects.code_dropped()
        return changed

    def _changeable(
        self, tenant: Tenant, service: str, name: str, if_match: str, source: CodeSource | None
    ) -> Function:
        function = self._resolver.function(tenant, service, name)
        check_if_match(if_match, function.etag)
        if function.folder and source is not None:
            raise InvalidArgument(
                f"the code of function '{name}' is loaded from {function.folder}; change the files there instead"
            )
        return function

    def delete(self, tenant: Tenant, service: str, name: str, if_match: str) -> None:
        """Remove a function, and with a 3.0 function its versions and aliases.

        Raises: FunctionNotFound, ServiceNotFound, PreconditionFailed, InvalidArgument for one from the folder, what
        ``check_deletable`` raises for one that is still needed.
        Source: what happens to versions and aliases of a 3.0 function is assumed.
        """
        function = self._resolver.function(tenant, service, name)
        check_if_match(if_match, function.etag)
        if function.folder:
            raise InvalidArgument(f"function '{name}' is loaded from {function.folder}; remove that folder instead")
        self.check_deletable(tenant, service, name)
        families = [family(tenant, service, name, 0)]
        if not service:
            scope = function.scope
            everything = 1_000_000
            for alias in self._store.aliases(tenant, scope, Slice(limit=everything)):
                self._store.delete_alias(tenant, scope, alias.name)
            for version in self._store.versions(tenant, scope, start=None, newest_first=True, limit=everything):
                self._store.delete_version(tenant, scope, version.number)
                families.append(family(tenant, "", name, version.number))
        self._store.delete_function(tenant, service, name)
        self.forget(tenant, service, name)
        self._effects.retire(families)
        self._effects.code_dropped()

    # --- code ----------------------------------------------------------------------------------------------------

    async def locate_code(self, tenant: Tenant, service: str, name: str, qualifier: str | None) -> CodeLocation:
        """Make the function's package available for download for some minutes.

        Code of the folder is packed for it.

        Raises: as `get`; InvalidArgument when the function has no code (custom-container).
        """
        function = self.get(tenant, service, name, qualifier)
        if function.code is None:
            raise InvalidArgument(f"function '{name}' runs a container image and has no code package")
        package = await self.packed(function) if function.code.folder else function.code
        return CodeLocation(token=self.offer(package.digest), checksum=package.checksum)

    def offer(self, digest: str) -> str:
        """Make a stored package available for download for some minutes and return the token of its address."""
        now = self._clock.now()
        self._downloads = {token: kept for token, kept in self._downloads.items() if kept[1] > now}
        token = self._ids.secret(24).hex()
        self._downloads[token] = (digest, Millis(now + limits.CODE_URL_LIFE_S * SECOND))
        return token

    async def packed(self, function: Function) -> Code:
        """Pack code that is used in place and keep the package; return where it is.

        Raises: InvalidArgument when the folder cannot be read.
        """
        folder = Path(function.folder)
        leave_out = frozenset() if function.service else frozenset({"versions"})

        def pack_folder() -> bytes:
            from emulator.services.fc.archive import pack  # zipfile is slow to import and rarely needed

            return pack(folder, leave_out)

        try:
            return await self._codes.keep(await self._codes.in_thread(pack_folder))
        except OSError as error:
            raise InvalidArgument(f"the code in {folder} cannot be read: {error.strerror or error}") from error

    def download(self, token: str) -> bytes | None:
        """Return the package behind a token of `locate_code`, None when there is none or its time is over."""
        digest, until = self._downloads.get(token, ("", 0))
        if until <= self._clock.now():
            return None
        return self._codes.package(digest)

    def _kept_for_download(self) -> Iterable[str]:
        return [digest for digest, _ in self._downloads.values()]

    @asynccontextmanager
    async def _stored(
        self, tenant: Tenant, config: FunctionConfig, source: CodeSource | None
    ) -> AsyncIterator[Code | None]:
        """Store what *source* names while the context lasts; None when there is nothing to store."""
        if source is None or config.runtime == CUSTOM_CONTAINER:
            yield None
            return
        read = await self.reader(tenant, source)
        async with self._codes.adding(read, source.checksum) as code:
            yield code

    async def reader(self, tenant: Tenant, source: CodeSource) -> Callable[[], bytes]:
        """Return what gives the package that *source* names, to be called in the thread of the code store.

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

    def _check_free(self, tenant: Tenant, service: str, name: str) -> None:
        if service and self._store.service(tenant, service) is None:
            raise ServiceNotFound(service=service)
        if self._store.function(tenant, service, name) is not None:
            raise FunctionAlreadyExists(function=name, service=service)
