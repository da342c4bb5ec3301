"""Why a definition is refused."""


class DefinitionError(Exception):
    """A definition that is not a flow: what is wrong and where.

    ``line`` and ``column`` count from 1; ``field`` is the path of the field, such as ``steps[2].choices[0].condition``,
    or empty for the document as a whole.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, field: str = "") -> None:
        self.message = message
        self.line = line
        self.column = column
        self.field = field
        super().__init__(f"{field}: {message}" if field else message)

    def __str__(self) -> str:
        subject = f"{self.field}: " if self.field else ""
        return f"{subject}{self.message} (line {self.line}, column {self.column})"
