"""What the readers of all kinds of files build with: resources are added, and can be referred to from then on."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import function_fields as fields
from emulator.deploy.attributes import attributes_of
from emulator.deploy.files import Files
from emulator.deploy.functions import Scope
from emulator.deploy.model import Resource
from emulator.deploy.part import Findings, Part
from emulator.deploy.shapes import Field, kept, members

Builder = Callable[["Build", Part, str], None]
"""Adds what one resource of a file stands for; the last argument is its type as written."""

Table = tuple[Field, ...]


class Build:
    """Resources under construction, in the order in which they can be made."""

    def __init__(self, *, scope: Scope, files: Files, findings: Findings) -> None:
        self.scope = scope
        self.files = files
        self.findings = findings
        self.resources: list[Resource] = []
        self._keys: dict[str, str] = {}

    @property
    def account(self) -> str:
        """The account's id."""
        return self.scope.tenant.account

    @property
    def region(self) -> str:
        """The region."""
        return self.scope.tenant.region

    def properties(self, part: Part) -> Part:
        """Return a resource's ``Properties`` with every function evaluated."""
        found = part.member("Properties")
        return found.with_value(self.scope.value(found))

    def add(
        self,
        part: Part,
        kind: str,
        identity: tuple[str, ...],
        properties: Mapping[str, Any],
        *,
        type_name: str,
        logical: str = "",
        package: bytes | None = None,
        also_known_as: tuple[str, ...] = (),
    ) -> Resource:
        """Add a resource; a second one of the same identity is a problem."""
        resource = Resource(
            logical=logical or part.name,
            type=type_name,
            kind=kind,
            identity=identity,
            properties=kept(properties),
            line=part.line,
            package=package,
        )
        if resource.key in self._keys:
            part.problem(f"{resource.physical} is described by {self._keys[resource.key]} too")
        self._keys[resource.key] = resource.logical
        self.resources.append(resource)
        known = attributes_of(resource, self.scope.tenant)
        for name in (resource.logical, *also_known_as):
            self.scope.attributes[name] = known
        return resource

    def default_name(self, part: Part) -> str:
        """Return the name of a resource whose file gives none."""
        return f"{self.scope.tenant.name}-{part.name}"

    def role_arn(self, name: str) -> str:
        """Return the resource name of a role; one that is written out stays."""
        return name if name.startswith("acs:") else f"acs:ram::{self.account}:role/{name}"

    def definition(self, part: Part) -> str | None:
        """Return the flow definition in the file a part names, the account's id in place of ``{accountID}``."""
        text = self.files.text(part)
        return None if text is None else text.replace("{accountID}", self.account)


def read_function_2(part: Part, extra: Table, *, capital: bool) -> dict[str, Any]:
    """Return the properties of a function in a service; what only the file knows of (*extra*) is among them."""
    return members(part, (*fields.FUNCTION_2, *extra), capital=capital)


def read_function_3(part: Part, extra: Table, *, capital: bool) -> dict[str, Any]:
    """Return the properties of a function without a service."""
    return members(part, (*fields.FUNCTION_3, *extra), capital=capital)
