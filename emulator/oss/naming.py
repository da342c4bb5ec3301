"""How faults know calls of the object store: operation, bucket and object, who makes them."""

from emulator.kernel.interfering import Dialect, Origin, Subject
from emulator.oss.errors import OssError

DIALECT = Dialect(OssError, "TotalQpsLimitExceeded")


def subject(operation: str, bucket: str, key: str = "", origin: Origin = "client") -> Subject:
    """Return an operation on a bucket or an object as faults know it."""
    names = (f"{bucket}/{key}", bucket) if key else (bucket,)
    return Subject("oss", operation, names if bucket else (), (origin,))
