"""Records of deployments, kept in the emulator's own state and reached at ``/_localyun/deployments``.

Calls are signed with this installation's key instead of the admin token, so that a client elsewhere that may deploy can
also continue from the last deployment. ``GET`` lists all; below it are ``GET``, ``PUT`` and ``DELETE`` of one name.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from emulator.gateway.errors import JsonFront, json_response
from emulator.http.message import Response
from emulator.kernel.clock import Clock
from emulator.kernel.errors import AuthFailure, ErrorRow, ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.storage.database import Database
from emulator.wire.request import OperationRequest


class Deployments:
    """The records of one account and region, by the name of the deployment; their content is the client's."""

    def __init__(self, database: Database, tenant: Tenant, clock: Clock) -> None:
        self._database = database
        self._place = (tenant.account, tenant.region)
        self._clock = clock

    def all(self) -> list[dict[str, Any]]:
        """Return every record, by name."""
        rows = self._database.read(
            "SELECT content FROM deployments WHERE account = ? AND region = ? ORDER BY name", self._place
        )
        return [json.loads(content) for (content,) in rows]

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a record, None when there is none of that name."""
        row = self._database.read(
            "SELECT content FROM deployments WHERE account = ? AND region = ? AND name = ?", (*self._place, name)
        ).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def put(self, name: str, content: dict[str, Any]) -> None:
        """Store a record, replacing one of that name."""
        self._database.write(
            "INSERT OR REPLACE INTO deployments VALUES (?, ?, ?, ?, ?)",
            (*self._place, name, json.dumps(content), self._clock.now()),
        )

    def remove(self, name: str) -> bool:
        """Delete a record and return whether it existed."""
        gone = self._database.write(
            "DELETE FROM deployments WHERE account = ? AND region = ? AND name = ?", (*self._place, name)
        )
        return gone.rowcount > 0


PATH = "/_localyun/deployments"

_LONGEST_NAME = 256

ERRORS: Mapping[str, ErrorRow] = {
    "InvalidArgument": ErrorRow(400, "{reason}"),
    "Forbidden": ErrorRow(403, "{reason}"),
    "NotFound": ErrorRow(404, "there is no deployment {name}"),
    "EntityTooLarge": ErrorRow(413, "A record has at most {limit} bytes."),
}


class DeploymentError(ServiceError):
    """A call that is refused."""

    table = ERRORS


class DeploymentsFront(JsonFront):
    """The front of the records."""

    name = "deployments"
    max_body = 8 * 1024 * 1024

    def __init__(self, deployments: Deployments, ids: Ids) -> None:
        super().__init__(ids)
        self._deployments = deployments

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Return False: every call is signed."""
        return False

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Return the refusal of a call without a valid signature."""
        reason = f"this call needs the signature of this installation's access key ({failure})"
        return DeploymentError("Forbidden", reason=reason)

    def too_large(self, limit: int) -> ServiceError:
        """Return the refusal of an oversized record."""
        return DeploymentError("EntityTooLarge", limit=limit)

    def handle(self, call: OperationRequest) -> Response:
        """Serve one call.

        Raises: DeploymentError.
        """
        request = call.http
        call.operation = f"{request.method} deployment"
        if call.principal is None or call.principal.temporary:
            raise DeploymentError("Forbidden", reason="temporary keys do not keep records of deployments")
        name = unquote(request.path.removeprefix(PATH).removeprefix("/"))
        if not name and request.method == "GET":
            return json_response(200, {"deployments": self._deployments.all()})
        if not name or len(name) > _LONGEST_NAME:
            reason = f"a deployment needs a name of 1 to {_LONGEST_NAME} characters"
            raise DeploymentError("InvalidArgument", reason=reason)
        match request.method:
            case "GET":
                record = self._deployments.get(name)
                if record is None:
                    raise DeploymentError("NotFound", name=name)
                return json_response(200, record)
            case "PUT":
                self._deployments.put(name, _record(request.body))
                return json_response(200, {"name": name})
            case "DELETE":
                if not self._deployments.remove(name):
                    raise DeploymentError("NotFound", name=name)
                return json_response(200, {"name": name})
            case _:
                raise DeploymentError("InvalidArgument", reason=f"{request.method} is not served here")


def _record(body: bytes) -> dict[str, Any]:
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not isinstance(record.get("resources"), list):
        raise DeploymentError("InvalidArgument", reason="the body must be the record of a deployment in JSON")
    return record
