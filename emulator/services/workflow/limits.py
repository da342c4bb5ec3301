"""The limits of the service.

Source: use limits, Serverless Workflow guide; ranges of parameters as the official SDK documents them, unless marked as
assumed.
"""

from emulator.kernel.frozen import frozen
from emulator.kernel.paging import Range

NAME_MAX = 128
"""Longest name of a flow, an execution or a step."""

FLOWS = 10_000
"""Flows per account and region."""

OPEN_EXECUTIONS = 10_000
"""Running executions per account and region."""

EVENTS = 5_000
"""History events per execution."""

STEP_DATA_BYTES = 32 * 1024
"""Input, local and output of one step together, and the data of one event, in bytes of JSON."""


@frozen
class Bounds:
    """Limits of an execution that may be raised above the documented ones, for measurements."""

    events: int = EVENTS
    step_data_bytes: int = STEP_DATA_BYTES


DOCUMENTED = Bounds()

REQUEST_BYTES = 1024 * 1024
"""Largest request."""

EXECUTION_S = 365 * 86_400
"""Longest duration of an execution, and the time-out of a flow that sets none."""

EXPRESS_S = 5 * 60
"""Longest duration of an express execution."""

WAIT_S = 2 * 86_400
"""Longest wait step."""

ITERATIONS_AT_ONCE = 100
"""Iterations of one foreach that run side by side; further ones wait."""

OPEN_MAP_RUNS = 10
"""Runs of distributed maps of one execution that are open; assumed: further ones wait, pending."""

NESTING = 200
"""How deep JSON may nest in inputs and results. Assumed; keeps reading and writing it inside Python's stack."""

ERROR_CHARS = 128
"""Longest error name in reports and stops."""

CAUSE_CHARS = 4096
"""Longest cause in reports and stops."""

REPLY_CAUSE_CHARS = 8192
"""Longest cause made of a service's reply, which is cut there so that the event stays in its limit. Assumed."""


LIST_FLOWS = Range(1, 999, 60)
LIST_EXECUTIONS = Range(1, 99, 60)
WEIGHT_MAX = 100
"""Highest weight of a version in an alias. Assumed."""

LIST_VERSIONS = Range(1, 999, 60)
LIST_ALIASES = Range(1, 999, 60)
"""Both assumed to be as for flows."""

LIST_SCHEDULES = Range(1, 1000, 60)
"""The default is assumed."""

HISTORY = Range(1, 1000, 60)
"""999 in the newest reference, 1000 in older ones: the wider range refuses no client."""
LONG_POLL_S = Range(0, 60, 0)
