"""The records between server and zygote on the control socket, of fixed size in each direction."""

from __future__ import annotations

import struct

ORDER = struct.Struct("!IIII48s")
"""Order, number of the instance, memory in MB, most processes, id of the instance."""

LAUNCH, TERMINATE, KILL, WATCH, UNWATCH = range(1, 6)
"""``LAUNCH`` comes with two descriptors: the instance's channel and the writing end of its log pipe."""

NEWS = struct.Struct("!IIiII")
"""News, number of the instance, process id or exit status, peak memory in KB, index into `REASONS`."""

READY, STARTED, ENDED = range(1, 4)

REASONS = ("", "memory", "processes", "fork")
"""Why an instance ended, as far as the zygote had a part in it; ``fork``: it never began, the status is the errno."""
