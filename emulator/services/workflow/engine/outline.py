"""The description of steps, in any language, for drawings, coverage and explanations."""

from typing import Final, Literal, NamedTuple

OTHERWISE: Final = "otherwise"
"""The label of the way on when no option of a choice without default applies."""

StepKind = Literal["task", "pass", "wait", "choice", "parallel", "foreach", "succeed", "fail"]
"""The kinds of step that all languages share; each has its shape in a graph."""


class Way(NamedTuple):
    """A way from a step to another one of its list.

    ``target`` is None at the end of the list. ``label`` is a condition or the names of errors. ``option`` is the number
    of the outcome of a choice that leads here, ``caught`` that of the rule which catches an error.
    """

    target: str | None
    label: str = ""
    option: int | None = None
    caught: int | None = None
