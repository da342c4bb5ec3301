"""Custom domains: what one is, what it may be, and their table."""

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc import limits
from emulator.services.fc.catalog.fields import DOMAIN
from emulator.services.fc.catalog.store import CountingStore
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.invoke.http_access import read_rules
from emulator.services.fc.model import SLICED, Slice, Struct, etag
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


class Domains(CountingStore):
    """The custom domains of every account. *names* learns, after the commit, which host names lead to functions."""

    def __init__(self, database: Database, names: HostNames | None) -> None:
        super().__init__(database)
        self._names = names

    def start(self) -> None:
        """Have the names of an earlier run answered again."""
        for domain in self.all():
            self._allow(domain)

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
        """Write a domain, new or not; its name is answered from then on."""
        self._write(
            f"INSERT OR REPLACE INTO fc_domains ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
            (
                domain.name, domain.tenant.account, domain.tenant.region, domain.domain_id, domain.api,
                json.dumps(domain.config), domain.created_at, domain.modified_at, domain.revision,
            ),
        )  # fmt: skip
        self._database.after_commit(lambda failure: None if failure else self._allow(domain))

    def delete(self, domain: Domain) -> None:
        """Remove a domain; its name is no longer answered, unless another has taken it."""
        self._write("DELETE FROM fc_domains WHERE name = ?", (domain.name,))

        def committed(failure: CommitFailed | None) -> None:
            if failure is None and self._names is not None and self.get(domain.name) is None:
                self._names.forget(domain.name)

        self._database.after_commit(committed)

    def clear(self) -> None:
        """Forget every domain."""
        for domain in self.all():
            self.delete(domain)

    def _allow(self, domain: Domain) -> None:
        if self._names is not None:
            self._names.allow(domain.name, https=domain.https)


def _domain(row: Any) -> Domain:
    name, account, region, domain_id, api, config, created_at, modified_at, revision = row
    return Domain(
        name=name, tenant=Tenant(AccountId(account), Region(region)), domain_id=domain_id, api=api,
        config=json.loads(config), created_at=created_at, modified_at=modified_at, revision=revision,
    )  # fmt: skip


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_OF_THE_CLOUD = (".aliyuncs.com", ".fcapp.run")


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


def domain_config(body: Mapping[str, Any], api: str) -> dict[str, Any]:
    """Check what a request of API version *api* says of a domain.

    Raises: InvalidArgument.
    """
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
