"""The management API of the message service, version 2022-01-19, spoken RPC."""

from emulator.dialect.pop_errors import PopError
from emulator.dialect.rpc import RpcFront
from emulator.kernel.errors import ServiceError
from emulator.kernel.ids import Ids

VERSION = "2022-01-19"


class ActionNotSupported(PopError):
    """An operation this version of the emulator does not serve. Field: ``action``. Source: assumed."""

    code = "ActionNotSupported"
    http_status = 400
    template = "This version of the emulator does not serve the action {action} yet."


class MnsOpenFront(RpcFront):
    """Authenticates, and tells that the operations are not served."""

    def __init__(self, ids: Ids) -> None:
        super().__init__("mns-open", VERSION, {}, ids, upper_case_ids=True)

    def unknown_action(self, action: str) -> ServiceError:
        """Return the error for every action."""
        return ActionNotSupported(action=action)
