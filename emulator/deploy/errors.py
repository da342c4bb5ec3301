"""What goes wrong with a deployment.

DeployError
+-- FileProblems    the file cannot be deployed; every problem with its line
+-- Refused         an emulator answered a call with an error
+-- StepFailed      one resource could not be brought to what the file says
"""

from collections.abc import Iterable

from emulator.kernel.frozen import frozen


@frozen(kw_only=False)
class Problem:
    """Something that is wrong at a place of the file; line and column count from 1."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        """The problem as messages have it."""
        return f"{self.text} (column {self.column})"


class DeployError(Exception):
    """A deployment that cannot go on."""


class FileProblems(DeployError):
    """The file says what cannot be deployed; *problems* are in the order of their places."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        super().__init__("; ".join(f"line {each.line}: {each}" for each in self.problems))


class Refused(DeployError):
    """The answer to a call was an error; ``code`` is the service's name for it, ``status`` that of HTTP."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"{code}: {message}" if code else message)


class StepFailed(DeployError):
    """A resource that could not be created, updated or deleted.

    Everything done before it was undone, except *left*.
    """

    def __init__(self, what: str, reason: str, left: Iterable[str] = ()) -> None:
        self.left = tuple(left)
        super().__init__(f"{what}: {reason}")
