"""Custom domains: what one is, their table, and create, get, update, delete, list."""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.catalog.fields import DOMAIN
from emulator.services.fc.catalog.store import CountingStore
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.invoke.http_access import read_rules
from emulator.services.fc.model import SLICED, Slice, Struct, check_if_match, etag
from emulator.services.fc.ports import HostNames
from emulator.storage.database import CommitFailed, Database


@frozen
class Domain:
    """A custom domain. ``config`` is checked and under the API's own names; ``api`` is the version that made it.

    ``name`` is in lower case, ``config["domainName"]`` as it was written.
    """

    name: str
    tenant: Tenant
    domain_id: str
    api: str
    config: Struct
    created_at: Millis
    modified_at: Millis
    revision: int = 1

    @property
    def etag(self) -> str:
        """The opaque text that changes with every update."""
        return etag(self.domain_id, self.revision)

    @property
    def https(self) -> bool:
        """Whether it is served over HTTPS."""
        return "HTTPS" in str(self.config.get("protocol", "HTTP"))

    @property
    def routes(self) -> Sequence[Struct]:
        """Its routes, in the API's form."""
        routes: Sequence[Struct] = (self.config.get("routeConfig") or {}).get("routes") or ()
        return routes


def shown(config: Struct) -> dict[str, Any]:
    """Return a configuration as answers have it: with null for the private key.

    Source: fc-java-sdk FunctionComputeClientTest.
    """
    certificate = config.get("certConfig")
    return {**config, "certConfig": {**certificate, "privateKey": None}} if certificate else dict(config)


_COLUMNS = "name, account, region, id, api, config, created_at, modified_at, revision"


class DomainStore(CountingStore):
    """Everything custom domains keep over a restart."""

    def get(self, name: str) -> Domain | None:
        """Return a domain of whatever account."""
        sql = f"SELECT {_COLUMNS} FROM fc_domains WHERE name = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (name,)).fetchone()
        return _domain(row) if row else None

    def some(self, tenant: Tenant, part: Slice) -> list[Domain]:
        """Return some domains by name, one more than the slice's limit when there are more."""
        sql = f"SELECT {_COLUMNS} FROM fc_domains WHERE account = ? AND region = ? AND {SLICED}"  # noqa: S608 - constants
        return [_domain(row) for row in self._database.read(sql, (tenant.account, tenant.region, *part.bounds))]

    def all(self) -> list[Domain]:
        """Return every domain."""
        return [_domain(row) for row in self._database.read(f"SELECT {_COLUMNS} FROM fc_domains")]  # noqa: S608 - constants

    def put(self, domain: Domain) -> None:
        """Write a domain, new or not."""
        self._write(
            f"INSERT OR REPLACE INTO fc_domains ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
            (
                domain.name, domain.tenant.account, domain.tenant.region, domain.domain_id, domain.api,
                json.dumps(domain.config), domain.created_at, domain.modified_at, domain.revision,
            ),
        )  # fmt: skip

    def delete(self, name: str) -> None:
        """Remove a domain."""
        self._write("DELETE FROM fc_domains WHERE name = ?", (name,))

    def clear(self) -> None:
        """Forget every domain."""
        self._write("DELETE FROM fc_domains")


def _domain(row: Any) -> Domain:
    name, account, region, domain_id, api, config, created_at, modified_at, revision = row
    return Domain(
        name=name, tenant=Tenant(AccountId(account), Region(region)), domain_id=domain_id, api=api,
        config=json.loads(config), created_at=created_at, modified_at=modified_at, revision=revision,
    )  # fmt: skip


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_OF_THE_CLOUD = (".aliyuncs.com", ".fcapp.run")


class Domains:
    """The custom domains of every account. *names* learns which host names lead to functions."""

    def __init__(self, store: DomainStore, database: Database, ids: Ids, names: HostNames | None) -> None:
        self._store = store
        self._database = database
        self._ids = ids
        self._names = names

    def start(self) -> None:
        """Have the names of an earlier run answered again."""
        for domain in self._store.all():
            self._allow(domain)

    def host_names(self) -> Iterator[str]:
        """Yield the name of every domain."""
        return (domain.name for domain in self._store.all())

    def create(self, tenant: Tenant, body: Mapping[str, Any], api: str, now: Millis) -> Domain:
        """Create a domain from a request body of API version *api*.

        Raises: InvalidArgument, DomainNameAlreadyExists.
        """
        name = domain_name(body.get("domainName"))
        if self._store.get(name) is not None:
            raise FcError("DomainNameAlreadyExists", domain=name)
        config = {"domainName": body["domainName"], "protocol": "HTTP", **_read(body, api)}
        domain = Domain(
            name=name,
            tenant=tenant,
            domain_id=self._ids.uuid(),
            api=api,
            config=config,
            created_at=now,
            modified_at=now,
        )
        self._put(domain)
        return domain

    def get(self, tenant: Tenant, name: str) -> Domain:
        """Return a domain.

        Raises: DomainNameNotFound.
        """
        domain = self._store.get(name.lower())
        if domain is None or domain.tenant != tenant:
            raise FcError("DomainNameNotFound", domain=name)
        return domain

    def update(
        self, tenant: Tenant, name: str, body: Mapping[str, Any], api: str, if_match: str, now: Millis
    ) -> Domain:  # fmt: skip
        """Change what *body* says; each part is replaced as a whole.

        Raises: DomainNameNotFound, PreconditionFailed, InvalidArgument.
        """
        old = self.get(tenant, name)
        check_if_match(if_match, old.etag)
        config = {**old.config, **_read(body, api)}
        domain = replace(old, config=config, api=api, modified_at=now, revision=old.revision + 1)
        self._put(domain)
        return domain

    def delete(self, tenant: Tenant, name: str, if_match: str) -> None:
        """Remove a domain; its name is no longer answered.

        Raises: DomainNameNotFound, PreconditionFailed.
        """
        domain = self.get(tenant, name)
        check_if_match(if_match, domain.etag)
        self._store.delete(domain.name)
        self._after_commit(domain, gone=True)

    def page(self, tenant: Tenant, part: Slice) -> Page[Domain]:
        """Return domains by name."""
        return cut(self._store.some(tenant, part), part.limit, lambda domain: domain.name)

    def clear(self) -> None:
        """Forget every domain."""
        for domain in self._store.all():
            self._after_commit(domain, gone=True)
        self._store.clear()

    def _put(self, domain: Domain) -> None:
        self._store.put(domain)
        self._after_commit(domain, gone=False)

    def _after_commit(self, domain: Domain, *, gone: bool) -> None:
        def committed(failure: CommitFailed | None) -> None:
            if failure is not None:
                return
            if not gone:
                self._allow(domain)
            elif self._names is not None and self._store.get(domain.name) is None:
                self._names.forget(domain.name)

        self._database.after_commit(committed)

    def _allow(self, domain: Domain) -> None:
        if self._names is not None:
            self._names.allow(domain.name, https=domain.https)


def domain_name(value: object) -> str:
    """Check the name of a custom domain and return it in lower case.

    Addresses of this machine and names of the cloud are refused: they lead to the APIs.

    Raises: InvalidArgument.
    """
    if not isinstance(value, str) or not value:
        raise InvalidArgument("domainName is required")
    name = value.lower()
    labels = name.split(".")
    if (
        len(name) > limits.DOMAIN_NAME_LENGTH
        or len(labels) < 2
        or not all(re.fullmatch(_LABEL, label) for label in labels)
    ):
        raise InvalidArgument(f"domainName '{value[:200]}' is invalid: it must be a host name such as www.example.com")
    if _is_address(name) or name.endswith(_OF_THE_CLOUD):
        raise InvalidArgument(f"domainName '{value[:200]}' is reserved")
    return name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name.rpartition(".")[2].isdigit()  # 127.1 is an address for some resolvers
    return True


def _read(body: Mapping[str, Any], api: str) -> dict[str, Any]:
    config: dict[str, Any] = DOMAIN(dict(body), "body")
    auth = config.get("authConfig") or {}
    if auth.get("authType") == "jwt":
        read_rules(auth.get("authInfo"), "authConfig.authInfo")
    paths = set()
    for index, route in enumerate((config.get("routeConfig") or {}).get("routes") or ()):
        field = f"routeConfig.routes[{index}]"
        if "path" not in route or "functionName" not in route:
            raise InvalidArgument(f"{field} must have path and functionName")
        if api != "2023-03-30" and not route.get("serviceName"):
            raise InvalidArgument(f"{field} must have serviceName")
        key = (route["path"], *sorted(route.get("methods") or ()))
        if key in paths:
            raise InvalidArgument(f"{field} has the path of another route")
        paths.add(key)
    return config
