"""How faults and mocks know calls: operation, names of the resource, who makes them."""

from emulator.kernel.interfering import Dialect, Origin, Subject
from emulator.services.fc.codec import qualifier_of
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import LATEST, display_name
from emulator.wire.request import OperationRequest

DIALECT = Dialect(FcError, "ResourceThrottled")
"""The table's words for what each service says to callers that are too quick."""


def invocation_of(service: str, function: str, qualifier: str | None, *origins: Origin) -> Subject:
    """Return a call of a function."""
    return Subject("fc", "InvokeFunction", _names(service, function, qualifier or ""), origins)


def subject(operation: str, call: OperationRequest) -> Subject:
    """Return an operation of the API on a service, a function or what belongs to one; after it has been routed."""
    path = call.path
    service, _, of_service = path.get("service", "").partition(".")
    function = path.get("function", "")
    if function:
        return Subject("fc", operation, _names(service, function, of_service or qualifier_of(call) or ""), ("client",))
    return Subject("fc", operation, tuple(path.values()), ("client",))


def _names(service: str, function: str, qualifier: str) -> tuple[str, ...]:
    own = display_name(service, function)
    path = f"services/{service}/functions/{function}" if service else f"functions/{function}"
    qualified = (f"{own}.{qualifier}",) if qualifier and qualifier != LATEST else ()
    return (own, *qualified, path, *((function,) if service else ()))
