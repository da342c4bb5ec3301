"""Errors of the lab: answered as the admin API's JSON."""

from typing import ClassVar

from emulator.kernel.errors import ErrorRow, ServiceError

ERRORS = {
    "InvalidParameter": ErrorRow(400, "{reason}"),
    "InvalidClock": ErrorRow(400, "The clock cannot be moved there."),
    "NotSettled": ErrorRow(409, "Work is still running."),
    "SkipEnded": ErrorRow(409, "The condition did not become true."),
    "LimitExceeded": ErrorRow(400, "The limit of {most} {what} is reached."),
    "InvalidCheckpoint": ErrorRow(400, "This checkpoint cannot be used: {reason}"),
    "NotKept": ErrorRow(500, "The state could not be written: {reason}"),
    "NotFound": ErrorRow(404, "There is no {what} '{name}'."),
}


class LabError(ServiceError):
    """A request to the lab that cannot be served."""

    table: ClassVar = ERRORS


def invalid(reason: str) -> LabError:
    """Return the error InvalidParameter; *reason* says what is wrong."""
    return LabError("InvalidParameter", reason=reason)
