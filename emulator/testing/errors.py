"""What can go wrong in a test's use of the kit."""

from typing import Any


class TestingError(Exception):
    """Base of the kit's own errors."""

    __test__ = False  # pytest would take the name for a test class


class NotInstalled(TestingError):
    """A package of an extra is missing; the text says which extra brings it."""


class ApiError(TestingError):
    """The emulator refused a call; ``status``, ``code`` and ``message`` are the answer's, ``body`` its JSON or text."""

    def __init__(self, status: int, code: str, message: str, body: Any = None) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.body = body
        super().__init__(f"{status} {code}: {message}")
