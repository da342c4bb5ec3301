"""Every number of the HTTP layer: sizes in bytes, spans in seconds."""

from emulator.kernel.frozen import frozen

KIB = 1024


@frozen
class HttpLimits:
    """How much one connection may send, and how long it may take.

    ``idle_s`` stays at 60 or more in a running emulator: clients keep connections that long and some of them answer a
    connection closed under them with an error instead of a second attempt.
    """

    head_bytes: int = 64 * KIB
    """All header fields of a request together."""
    target_bytes: int = 64 * KIB
    """The request line."""
    header_fields: int = 200
    pipelined_bytes: int = 64 * KIB
    """Input that may wait while an earlier request is unanswered; beyond it nothing more is read."""
    linger_bytes: int = 4 * KIB * KIB
    """Input dropped after an early refusal, so that the client reads the answer instead of a reset."""
    slice_bytes: int = 256 * KIB
    """Answers longer than this leave in slices, as the client takes them."""

    idle_s: float = 75
    head_s: float = 30
    """From the first byte of a request to the end of its header fields."""
    body_s: float = 60
    """Without a single byte of a body that is not complete."""
    write_s: float = 60
    """Without the client taking anything of an answer."""
    linger_s: float = 5
    sweep_s: float = 1
    """How often the spans above are checked; they are that coarse."""
