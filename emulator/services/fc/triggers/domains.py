"""Custom domains: what one is, what it may be, and their table."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc import limits
from emulator.services.fc.catalog.fields import DOMAIN
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.invoke.http_access import read_rules
from emulator.services.fc.model import SLICED, Resource, Slice, Struct
from emulator.services.fc.ports import HostNames
from emulator.services.fc.tables import JSON, TENANT, CountingStore, Rows
from emulator.storage.database import CommitFailed, Database


@frozen
class Domain(Resource):
    """A custom domain. ``config`` is checked and under the API's own names; ``api`` is the version that made it.

    ``name`` is in lower case, ``config["domainName"]`` as it was written.
    """

    name: str
    tenant: Tenant
    api: str
    config: Struct

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


_ROWS = Rows(Domain, "fc_domains", tenant=TENANT, config=JSON)


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
        return self._one(_ROWS, "name = ?", (name,))

    def some(self, tenant: Tenant, part: Slice) -> list[Domain]:
        """Return some domains by name, one more than the slice's limit when there are more."""
        return self._all(_ROWS, f"account = ? AND region = ? AND {SLICED}", (*tenant, *part.bounds))

    def all(self) -> list[Domain]:
        """Return every domain."""
        return self._all(_ROWS, "true")

    def put(self, domain: Domain) -> None:
        """Write a domain, new or not; its name is answered from then on."""
        self._write(_ROWS.put, _ROWS.values(domain))
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
