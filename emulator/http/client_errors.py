"""What can go wrong with an outgoing call.

::

    ClientError
    +- AddressRefused     the address policy allows none of the host's addresses; nothing was sent
    +- ConnectFailed      no connection: unknown name, refused, TLS failure
    +- ConnectionLost     the connection ended before the whole answer had come
    +- AnswerTooLarge     the body is longer than the caller takes
    +- BadAnswer          what came is no HTTP answer
    +- CallTimedOut       (also a TimeoutError) the time given was over
"""


class ClientError(Exception):
    """An outgoing call did not get its answer."""


class AddressRefused(ClientError):
    """The address policy allows none of the host's addresses."""


class ConnectFailed(ClientError):
    """No connection could be made."""


class ConnectionLost(ClientError):
    """The connection ended before the whole answer had come. ``unanswered``: not one byte of it had."""

    def __init__(self, reason: str, *, unanswered: bool = False) -> None:
        self.unanswered = unanswered
        super().__init__(reason)


class AnswerTooLarge(ClientError):
    """The body of the answer is longer than the caller takes."""


class BadAnswer(ClientError):
    """What came is no HTTP answer."""


class CallTimedOut(ClientError, TimeoutError):
    """The time given for the call was over."""
