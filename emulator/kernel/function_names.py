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
    service, _, of_service = place.partition(".")
    function, _, qualifier = name.partition(".")
    if not function or "/" in place or (slash and not service) or (of_service and qualifier):
        raise ValueError(text)
    return NamedFunction(service, function, qualifier or of_service)
