"""``@frozen``: immutable data classes that are made quickly.

``@dataclass(frozen=True, slots=True, kw_only=True)`` writes and compiles six methods for every class in 0.3 to 0.4 ms,
makes the class a second time for its slots, and imports ``inspect``; with two hundred such classes that was a fifth of
a start. Here the class is made once more with everything in it, `replace` and `field` are a few lines, and only
``__init__`` is compiled, because it is called all the time, and not before the first object is made, because most
classes have none in a start; the other methods are closures over the fields' names. `dataclasses.replace` and
`dataclasses.fields` take the classes too, and type checkers treat them like the standard library's.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")

ABSENT: Final[Any] = object()
"""Stands for "no default"."""


class Field:
    """One field: its name, type and default, or the factory of one; both are `ABSENT` when it must be given."""

    __slots__ = ("compare", "default", "default_factory", "kind", "name", "repr")

    def __init__(self, default: Any, default_factory: Any, *, compare: bool, repr: bool) -> None:
        self.name = ""
        self.kind: Any = None
        self.default = default
        self.default_factory = default_factory
        self.compare = compare
        self.repr = repr


if TYPE_CHECKING:  # the type checker knows how these change the types of fields
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    def field(*, default=ABSENT, default_factory=ABSENT, compare=True, repr=True):
        """Say more of a field than its default: as `dataclasses.field`."""
        return Field(default, default_factory, compare=compare, repr=repr)

    def replace(record, /, **changes):
        """Return a copy of *record* with other values of some fields: as `dataclasses.replace`."""
        for each in record.__frozen_fields__:
            if each.name not in changes:
                changes[each.name] = getattr(record, each.name)
        return record.__class__(**changes)


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, kw_only: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = True) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class an immutable data class with slots, whose fields are given by name unless *kw_only* is false.

    Methods that the class has itself stay. ``__post_init__`` and ``InitVar`` are not supported.
    """

    def made(cls: type[T]) -> type[T]:
        content = dict(vars(cls))
        inherited = [each for base in reversed(cls.__mro__[1:]) for each in vars(base).get("__frozen_fields__", ())]
        annotations = cls.__annotations__  # its own only; from Python 3.14 on they are computed when asked for
        own = [_field(name, kind, content) for name, kind in annotations.items() if _is_field(kind)]
        fields = tuple({each.name: each for each in [*inherited, *own]}.values())
        present = {each.name for each in inherited}
        content |= {
            "__qualname__": cls.__qualname__,
            "__slots__": tuple(each.name for each in own if each.name not in present),
            "__match_args__": () if kw_only else tuple(each.name for each in fields),
            "__frozen_fields__": fields,
            "__dataclass_fields__": _STANDARD_FIELDS,
        }
        for name, method in _methods(fields, kw_only=kw_only).items():
            if content.get(name) is None:  # the class's own methods stay
                content[name] = method
        content.pop("__dict__", None)
        content.pop("__weakref__", None)
        metaclass: Any = type(cls)
        kind: type[T] = metaclass(cls.__name__, cls.__bases__, content)
        return kind

    return made if cls is None else made(cls)


def fields_of(kind: Any) -> tuple[Field, ...]:
    """Return the fields of a frozen class or object, inherited ones first; of everything else none."""
    found: tuple[Field, ...] = getattr(kind, "__frozen_fields__", ())
    return found


def _is_field(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return not annotation.startswith("ClassVar")
    return getattr(annotation, "__origin__", annotation) is not ClassVar


def _field(name: str, kind: Any, content: dict[str, Any]) -> Field:
    """Take the field *name* out of what the class's body has left in *content*."""
    given = content.pop(name, ABSENT)
    if not isinstance(given, Field):
        given = Field(given, ABSENT, compare=True, repr=True)
    given.name, given.kind = name, kind
    return given


def _methods(fields: tuple[Field, ...], *, kw_only: bool) -> dict[str, Callable[..., Any]]:
    values = attrgetter("__class__", *(each.name for each in fields if each.compare))

    compiled: Callable[..., None] | None = None

    def first(self: object, *given: Any, **named: Any) -> None:
        """Put the compiled ``__init__`` in the place of this one, unless another thread has done so meanwhile."""
        nonlocal compiled
        kind = next((each for each in self.__class__.__mro__ if vars(each).get("__init__") is first), None)
        if kind is not None:
            compiled = _compiled_initializer(kind.__qualname__, fields, kw_only=kw_only)
            kind.__init__ = compiled  # type: ignore[misc]  # the class is not complete yet
        assert compiled is not None
        compiled(self, *given, **named)

    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def digest(self: object) -> int:
        return hash(values(self))

    return {
        "__init__": first,
        "__repr__": _representation,
        "__eq__": equal,
        "__hash__": digest,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__setstate__": _restore,
    }


def _compiled_initializer(owner: str, fields: Iterable[Field], *, kw_only: bool) -> Callable[..., None]:
    """Compile ``__init__``; defaults are parameters' defaults, factories are called for parameters left out."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_absent": ABSENT}
    parameters, lines = ["self", "*"] if kw_only else ["self"], ["pass"]
    for each in fields:
        name, value = each.name, each.name
        if each.default_factory is not ABSENT:
            scope[f"_new_{name}"] = each.default_factory
            parameters.append(f"{name}=_absent")
            value = f"_new_{name}() if {name} is _absent else {name}"
        elif each.default is not ABSENT:
            scope[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"_set(self, {name!r}, {value})")
    if len(parameters) == 2 and kw_only:
        parameters.pop()  # a class without fields: nothing may follow the star
    text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines)
    exec(text, scope)  # noqa: S102 - made of field names, as in the standard library
    initializer: Callable[..., None] = scope["__init__"]
    initializer.__qualname__ = f"{owner}.__init__"  # named in the TypeError of a wrong call
    return initializer


def _representation(self: object) -> str:
    content = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields_of(self) if each.repr)
    return f"{self.__class__.__qualname__}({content})"


def _restore(self: object, state: tuple[None, dict[str, Any]]) -> None:
    """Fill a copy, deep or unpickled, that `copy` and `pickle` have made empty."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError  # only when somebody makes the mistake

    raise FrozenInstanceError(f"{self.__class__.__name__}.{name} cannot be changed")


class _StandardFields:
    """What `dataclasses` looks for in a class: its own description of the fields, made when it is first asked for."""

    def __get__(self, record: object, kind: type) -> dict[str, Any]:
        import dataclasses  # few use it on frozen classes

        parts = []
        for each in fields_of(kind):
            given = {"default": each.default, "default_factory": each.default_factory}
            known = {name: value for name, value in given.items() if value is not ABSENT}
            options: Any = {"compare": each.compare, "repr": each.repr, **known}
            parts.append((each.name, each.kind, dataclasses.field(**options)))
        described: Any = dataclasses.make_dataclass(kind.__name__, parts, kw_only=True)
        found: dict[str, Any] = described.__dataclass_fields__
        kind.__dataclass_fields__ = found  # type: ignore[attr-defined]  # creating it for each record would take 1 ms
        return found


_STANDARD_FIELDS: Final = _StandardFields()
