"""How a person names a function: on the command line, in the admin API, in tests."""

from typing import NamedTuple


class NamedFunction(NamedTuple):
    """A function by name: ``service`` is empty for one of 3.0, ``qualifier`` where none is named."""

    service: str
    function: str
    qualifier: str


def read_function(text: str) -> NamedFunction:
    """Read ``[service/]function[.qualifier]``; ``service.qualifier/function``, as the API has it, works too.

    Raises: ValueError for what cannot name a function.
    """
    place, slash, name = text.rpartition("/")
    service, of, of_service = place.partition(".")
    function, dot, qualifier = name.partition(".")
    misses = not function or (slash and not service) or (of and not of_service) or (dot and not qualifier)
    if misses or "/" in place or (of and dot):
        raise ValueError(text)
    return NamedFunction(service, function, qualifier or of_service)
