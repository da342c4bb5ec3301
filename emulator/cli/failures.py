"""Why a command ends without having done its work, and the exit code for it."""

from typing import Any

DONE = 0
FAILED = 1
WRONG_USAGE = 2
NO_EMULATOR = 3
DIFFERENT = 4


class CommandFailed(Exception):
    """A command that cannot go on; the message says what is wrong and what to do."""

    exit_code = FAILED


class NoEmulator(CommandFailed):
    """No emulator answered at the address."""

    exit_code = NO_EMULATOR


class OtherEmulator(CommandFailed):
    """What answers is the emulator of another folder."""


class WrongUsage(CommandFailed):
    """Arguments that make no sense together or cannot be read."""

    exit_code = WRONG_USAGE


class CallRefused(CommandFailed):
    """The emulator answered a call with an error, whose name is ``code``; ``content`` is the whole answer."""

    def __init__(self, status: int, code: str, message: str, content: dict[str, Any] | None = None) -> None:
        self.content = content or {}
        self.status = status
        self.code = code
        super().__init__(f"{code}: {message}" if code else f"HTTP {status}: {message}")
