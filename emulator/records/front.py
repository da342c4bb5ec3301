"""The fronts of records: VPC, ECS and Resource Management by RPC, Log Service by REST.

With *strict* no operation is served, and every call is refused with an error in the product's own form.
"""

import re
import sys
from collections.abc import Mapping

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, Reason, ServiceError
from emulator.kernel.identity import Region
from emulator.kernel.ids import Ids
from emulator.records import logs
from emulator.records.logs import LogError
from emulator.records.networks import Networks, operations
from emulator.records.store import RecordStore
from emulator.wire.operation import Actions, Routes, operations_of
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.rpc import PopError, RpcFront

PRODUCTS: Mapping[str, tuple[str, str]] = {
    "vpc": ("2016-04-28", "VPC"),
    "ecs": ("2014-05-26", "ECS"),
    "resourcemanager": ("2020-03-31", "Resource Management"),
}
"""Product -> API version, and the product's common name."""


class NetworkFront(RpcFront):
    """The front of one product's records."""

    def __init__(self, product: str, store: RecordStore, ids: Ids, *, strict: bool) -> None:
        version, self._title = PRODUCTS[product]
        actions = Actions(() if strict else operations(product))
        super().__init__(product, version, actions, Networks(store, ids), ids)
        self._strict = strict

    def handle(self, call: OperationRequest) -> Answer:
        """Run the operation in the region that ``RegionId`` names: most hosts of these products name none.

        Raises: ServiceError.
        """
        if region := call.all_parameters.get("RegionId"):
            call.region = Region(region)
        return super().handle(call)

    def unknown_action(self, action: str) -> ServiceError:
        """Return an error that names the product."""
        reason = ", and --strict refuses records of it" if self._strict else " by this emulator"
        return PopError("InvalidAction.NotFound", f"The action '{action}' of {self._title} is not served{reason}.")


_HOST = r"(?:([a-z0-9][a-z0-9-]*)\.)?[a-z0-9-]+\.log\.aliyuncs\.com"
_UNSEEN = frozenset({Reason.UNKNOWN_KEY, Reason.INACTIVE_KEY, Reason.MISSING_AUTHORIZATION})


class LogFront:
    """The front of Log Service: projects and their stores."""

    name = "log"
    max_body = 1024 * 1024

    def __init__(self, store: RecordStore, ids: Ids, *, strict: bool) -> None:
        self._store = store
        self._ids = ids
        self._strict = strict
        self._routes = Routes(operations_of(sys.modules[logs.__name__]))

    def new_request_id(self, call: OperationRequest) -> str:
        """Return 24 upper-case hexadecimal digits."""
        return self._ids.hex(24).upper()

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Return False: every call is signed."""
        return False

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Turn a reason into the service's code."""
        if failure.reason is Reason.SKEWED_DATE:
            return LogError("RequestTimeExpired")
        return LogError("Unauthorized" if failure.reason in _UNSEEN else "SignatureNotMatch", reason=str(failure))

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return LogError("PostBodyTooLarge", limit=limit)

    def handle(self, call: OperationRequest) -> Answer:
        """Find the operation and run it.

        Raises: LogError.
        """
        request = call.http
        if self._strict:
            raise LogError("Strict")
        match = re.fullmatch(_HOST, call.host)
        project = match[1] if match is not None and match[1] else "-"
        found = self._routes.find(request.method, f"/{project}{request.path.rstrip('/')}", call.query)
        if found is None:
            raise LogError("NotServed", method=request.method, path=request.path)
        each, call.path = found
        call.operation = each.name
        answer: Answer = each.perform(self._store, call)
        return answer

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write *error* with the members that clients of the service and of the RPC gateway read."""
        content = {"errorCode": error.code, "errorMessage": error.message, "Code": error.code, "Message": error.message}
        return logs.answer(content, error.http_status, call.request_id)
