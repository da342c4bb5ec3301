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
    """Something that is wrong at a line, counted from 1."""

    line: int
    text: str


class DeployError(Exception):
    """A deployment that cannot go on."""


class FileProblems(DeployError):
    """The file says what cannot be deployed; *problems* are in the order of its lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("; ".join(f"line {each.line}: {each.text}" for each in self.problems))


class Refused(DeployError):
    """The answer to a call was an error; ``code`` is the service's name for it, ``status`` that of HTTP."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(f"{code}: {message}" if code else message)


class StepFailed(DeployError):
    """A resource that could not be created, updated or deleted.

    *restored* tells whether everything before it was undone; if not, *left* says what could not be.
    """

    def __init__(self, what: str, reason: str, left: Iterable[str] = ()) -> None:
        self.left = tuple(left)
        super().__init__(f"{what}: {reason}")
