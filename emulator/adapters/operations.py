"""The names of the services' operations and error codes, for checking faults that name one."""

from collections.abc import Collection

from emulator.oss.errors import ERRORS as OSS_ERRORS
from emulator.services.fc.errors import ERRORS as FC_ERRORS
from emulator.services.fc.front import ROUTES as OF_FUNCTIONS
from emulator.services.mns.errors import ERRORS as MNS_ERRORS
from emulator.services.mns.front import ACTIONS as OF_MESSAGE_MANAGEMENT
from emulator.services.mns.front import ROUTES as OF_MESSAGES
from emulator.services.ram.errors import ERRORS as RAM_ERRORS
from emulator.services.sts.service import ERRORS as STS_ERRORS
from emulator.services.workflow.errors import ERRORS as WORKFLOW_ERRORS
from emulator.services.workflow.front import OPERATIONS as OF_FLOWS

_ERRORS = (FC_ERRORS, MNS_ERRORS, WORKFLOW_ERRORS, RAM_ERRORS, STS_ERRORS, OSS_ERRORS)

_WITHOUT_A_TABLE = {"PeekMessage", "Push"}
"""Operations that no table declares: a receive with a query item, and pushes that the service sends itself."""


def operation_names(service: str) -> Collection[str]:
    """Return the operations of a service as faults know them; none where the service has no list of them."""
    match service:
        case "fc":
            return {each.name for routes in OF_FUNCTIONS.values() for each in routes}
        case "fnf":
            return {each.name for each in OF_FLOWS}
        case "mns":
            return {each.name for each in (*OF_MESSAGES, *OF_MESSAGE_MANAGEMENT)} | _WITHOUT_A_TABLE
        case _:
            return ()


def error_codes() -> Collection[str]:
    """Return the codes that the services answer with."""
    return {row.code or name for table in _ERRORS for name, row in table.items()}
