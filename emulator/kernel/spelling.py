"""Suggestions for misspelt names."""

from collections.abc import Iterable

from emulator.kernel.phrases import Phrase


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean X?`` for the one of *known* that is most similar, "" when none is similar."""
    import difflib  # only needed for error messages

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return Phrase("; did you mean {name}?", name=near[0]) if near else ""
