"""Operations of a service: how each is reached, and the function that performs it.

A service declares an operation above the function that performs it::

    @operation("CreateQueue", "PUT /queues/{queue}")
    def create_queue(service: MessageService, call: OperationRequest) -> Response: ...

The front collects them with `operations_of` and finds them by path (`Routes`) or by name (`Actions`). Permissions,
metrics, faults and documentation read the same declarations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import Field

Perform = Callable[[Any, OperationRequest], Any]
"""(service, call) -> answer: a `Response`, or what the front renders; now or awaitable."""

_Performer = TypeVar("_Performer", bound=Callable[..., Any])

_ATTRIBUTE = "__operations__"

ANYONE = "anyone"
"""The right of an admin operation that needs no token."""

ANYONE_LOCAL = "anyone-local"
"""The right of an admin operation that needs no token while the emulator is reachable from this machine only."""


class Operation(NamedTuple):
    """One operation of one API.

    ``name`` is the vendor's. ``route`` is ``METHOD /path/{name}``, optionally followed by ``?name=value`` or ``?name``
    for operations that share a path and differ in a query item; empty for RPC operations, which are found by name.
    ``api`` is the version of the API where a service has several. ``right`` is the permission the operation needs when
    it is not called like the operation. ``parameters`` are the arguments of an admin operation.
    """

    name: str
    perform: Perform
    route: str = ""
    api: str = ""
    right: str = ""
    parameters: tuple[Field, ...] = ()

    @property
    def path(self) -> str:
        """The route's path, with ``{name}`` for its parameters."""
        return self.route.partition(" ")[2].partition("?")[0]

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.perform.__doc__ or "").partition("\n")[0]


def operation(
    name: str,
    route: str = "",
    *parameters: Field,
    api: str | tuple[str, ...] = "",
    right: str = "",
) -> Callable[[_Performer], _Performer]:
    """Declare that the decorated function performs the operation *name*; may be stacked for several routes.

    *api* is the version of the API, or several that have the same route.
    """

    def declare(perform: _Performer) -> _Performer:
        declared = vars(perform).setdefault(_ATTRIBUTE, [])
        for version in reversed((api,) if isinstance(api, str) else api):
            declared.insert(0, Operation(name, perform, route, version, right, parameters))
        return perform

    return declare


def operations_of(*modules: ModuleType, api: str = "") -> list[Operation]:
    """Return the operations that functions of *modules* perform, in order of their definition; only those of *api*."""
    return [
        each
        for module in modules
        for value in vars(module).values()
        for each in getattr(value, _ATTRIBUTE, ())
        if each.api == api and value.__module__ == module.__name__
    ]


class Actions:
    """Operations by name, without regard to case: one official client capitalises the names itself."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_name = {each.name.lower(): each for each in operations}

    def find(self, name: str) -> Operation | None:
        """Return the operation called *name*."""
        return self._by_name.get(name.lower())

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._by_name.values())


class Routes:
    """Operations by method, path and query; ``{name}`` in a route takes one path segment."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = tuple(operations)

    @cached_property
    def _by_shape(self) -> dict[tuple[str, int], list["_Template"]]:
        """Templates by method and number of segments, made for the first request: a start serves few of the tables."""
        by_shape: dict[tuple[str, int], list[_Template]] = {}
        for each in self._operations:
            template = _Template.of(each)
            by_shape.setdefault((template.method, len(template.fixed)), []).append(template)
        for alike in by_shape.values():
            # the most specific first: those with a query item, then those with more fixed segments
            alike.sort(key=lambda template: (template.item == "", template.fixed.count(None)))
        return by_shape

    def find(self, method: str, path: str, query: Mapping[str, str]) -> tuple[Operation, dict[str, str]] | None:
        """Return the operation and the decoded path parameters; None when no route fits.

        *path* is undecoded. Names and values in *query* that routes ask for are compared as they are.
        """
        segments = path.strip("/").split("/")
        for template in self._by_shape.get((method, len(segments)), ()):
            if template.fits(segments, query):
                return template.operation, {
                    name: unquote(segments[at], errors="surrogateescape") if "%" in segments[at] else segments[at]
                    for at, name in template.names
                }
        return None

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)


class _Template(NamedTuple):
    operation: Operation
    method: str
    fixed: tuple[str | None, ...]
    names: tuple[tuple[int, str], ...]
    item: str
    value: str

    @classmethod
    def of(cls, operation: Operation) -> "_Template":
        method = operation.route.partition(" ")[0]
        item, _, value = operation.route.partition("?")[2].partition("=")
        segments = operation.path.strip("/").split("/")
        fixed = tuple(None if segment[:1] == "{" else segment for segment in segments)
        names = tuple((at, segment.strip("{}")) for at, segment in enumerate(segments) if fixed[at] is None)
        return cls(operation, method, fixed, names, item, value)

    def fits(self, segments: list[str], query: Mapping[str, str]) -> bool:
        for want, have in zip(self.fixed, segments, strict=True):
            if want is not None and want != have:
                return False
        return not self.item or (self.item in query and self.value in {"", query[self.item]})
