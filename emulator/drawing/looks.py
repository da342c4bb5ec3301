"""The look of each kind of node, in SVG and in Mermaid."""

from typing import Literal, NamedTuple, assert_never

from emulator.drawing.model import Kind

Outline = Literal["dot", "barred", "square", "round", "diamond", "double", "frame"]
"""The shape of a node in SVG; a ``frame`` is drawn around its content."""


class Look(NamedTuple):
    """The colour of a node's outline and of its kind's name, its shape, and the brackets around its text in Mermaid.

    ``brackets`` is None for a kind that Mermaid draws as a subgraph, or not at all.
    """

    colour: str
    outline: Outline
    brackets: tuple[str, str] | None

    @property
    def is_pointed(self) -> bool:
        """Whether the shape has points or round ends, which leave less room for text."""
        return self.outline in {"round", "diamond", "double"}


_END = Look("#0f172a", "dot", None)
_TASK = Look("#1e40af", "barred", ("[", "]"))
_PASS = Look("#475569", "square", ("[/", "/]"))
_WAIT = Look("#115e59", "round", ("([", "])"))
_CHOICE = Look("#92400e", "diamond", ("{{", "}}"))
_BRANCHES = Look("#5b21b6", "frame", None)
_SUCCEED = Look("#166534", "double", ("(((", ")))"))
_FAIL = Look("#991b1b", "double", ("[[", "]]"))


def look(kind: Kind) -> Look:
    """Return how nodes of *kind* look."""
    match kind:
        case "start" | "end":
            return _END
        case "task":
            return _TASK
        case "pass":
            return _PASS
        case "wait":
            return _WAIT
        case "choice":
            return _CHOICE
        case "parallel" | "foreach":
            return _BRANCHES
        case "succeed":
            return _SUCCEED
        case "fail":
            return _FAIL
        case _:
            assert_never(kind)
