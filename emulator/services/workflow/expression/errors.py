"""What can go wrong with an expression: once while a definition is read, once while a flow runs.

::

    Exception
    |-- ExpressionError    the text cannot be compiled; the definition is refused
    `-- EvaluationError    a compiled expression met data it cannot work on; the step fails with FnF.RuntimeError
"""


class ExpressionError(Exception):
    """A path or condition that does not parse.

    ``position`` is the offset in the text, in characters from 0, where the trouble starts.
    """

    def __init__(self, message: str, position: int = 0) -> None:
        self.message = message
        self.position = position
        super().__init__(f"{message} (at character {position + 1})")


class EvaluationError(Exception):
    """An expression that cannot be evaluated on the data of this run; the engine reports ``FnF.RuntimeError``."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)
