"""Method and path -> operation. A template's ``{name}`` takes one path segment."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from emulator.http.message import Response
from emulator.services.fc.errors import FcError

if TYPE_CHECKING:
    from emulator.services.fc.codec import Exchange

Handler = Callable[["Exchange"], Response | Awaitable[Response]]


class Route(NamedTuple):
    """An operation of the API; ``handler`` is None when the emulator does not have it."""

    method: str
    path: str
    operation: str
    handler: Handler | None = None


class Routes:
    """The operations of one API version."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_shape: dict[tuple[str, int], list[tuple[tuple[str | None, ...], tuple[str, ...], Route]]] = {}
        for route in routes:
            segments = route.path.strip("/").split("/")
            fixed = tuple(None if segment[0] == "{" else segment for segment in segments)
            names = tuple(segment.strip("{}") for segment in segments)
            self._by_shape.setdefault((route.method, len(segments)), []).append((fixed, names, route))

    def find(self, method: str, path: str, full_path: str) -> tuple[Route, dict[str, str]]:
        """Return the operation and the decoded segments for the undecoded *path* below the version prefix.

        Raises: PathNotSupported, naming *full_path*.
        """
        segments = path.strip("/").split("/")
        for fixed, names, route in self._by_shape.get((method, len(segments)), ()):
            if all(want is None or want == have for want, have in zip(fixed, segments, strict=True)):
                values = {
                    name: valid_text(unquote(segment))
                    for name, segment, want in zip(names, segments, fixed, strict=True)
                    if want is None
                }
                return route, values
        raise FcError("PathNotSupported", method=method, path=full_path)


def valid_text(text: str) -> str:
    """Return *text* with question marks for bytes that are no UTF-8; nothing has such a name."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def serve(route: Route, exchange: "Exchange") -> Response | Awaitable[Response]:
    """Run the route's handler.

    Raises: OperationNotServed; what the handler raises.
    """
    if route.handler is None:
        raise FcError("OperationNotServed", operation=route.operation)
    return route.handler(exchange)
