"""RPC services that SDKs may ask and that are not emulated: a clear answer in their own form."""

from typing import ClassVar

from emulator.dialect.context import Answer, RequestContext
from emulator.dialect.pop_errors import InvalidActionNotFound, MissingParameter
from emulator.dialect.rpc import RpcFront, action_of, version_of
from emulator.kernel.errors import ServiceError
from emulator.kernel.ids import Ids


class NotEmulated(InvalidActionNotFound):
    """An operation of a service that this emulator does not serve."""

    template: ClassVar[str] = "The action '{action}' of {service} is not served by this emulator."


class UnavailableFront(RpcFront):
    """A service known by its API version, none of whose operations is served."""

    def __init__(self, name: str, title: str, ids: Ids, version: str = "") -> None:
        super().__init__(name, version, {}, ids, upper_case_ids=True)
        self._title = title

    def unknown_action(self, action: str) -> ServiceError:
        """Return an error that names the service."""
        return NotEmulated(action=action, service=self._title)


def unavailable_fronts(ids: Ids) -> dict[str, RpcFront]:
    """Return the front of the neighbour that SDKs know: resource orchestration."""
    return {"ros": UnavailableFront("ros", "Resource Orchestration", ids)}


class UnknownVersionFront(RpcFront):
    """Where RPC calls of no API version, or of one that nobody knows, end: refused after authentication."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("rpc", "-", {}, ids, upper_case_ids=True)

    def handle(self, context: RequestContext) -> Answer:
        """Refuse the call.

        Raises: MissingAction, MissingParameter, InvalidVersion.
        """
        if action_of(context) and not version_of(context):
            raise MissingParameter(name="Version")
        return super().handle(context)
