"""The billable amounts of executions: steps entered by standard ones, number and duration of express ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from emulator.kernel.metering import Amount

EXPRESS_GB: Final = 64 / 1024
"""The memory that an express execution is metered with: the lowest tier, assumed; the emulator measures none."""


def amounts(entered: Mapping[Any, Sequence[Any]], express: Mapping[str, Sequence[int]]) -> Iterator[Amount]:
    """Yield transitions by flow and kind of step, and number and GB-seconds of express executions by flow.

    *entered* has kind and number by flow and class of step, *express* number and milliseconds by flow.

    Source: CloudFlow, "Billing overview": a step that is entered is a transition, those of branches and iterations too.
    That a further attempt at a task is none is assumed.
    """
    for (flow, _), (kind, number) in entered.items():
        yield Amount("fnf.transitions", flow, kind, number)
    for flow, (number, took_ms) in express.items():
        yield from of_express(flow, number, took_ms)


def of_express(flow: str, number: int, took_ms: int) -> Iterator[Amount]:
    """Yield the amounts of a flow's express executions."""
    yield Amount("fnf.express.executions", flow, "", number)
    yield Amount("fnf.express.gb_seconds", flow, "", EXPRESS_GB * took_ms / 1000)


def of_history(flow: str, kinds: Iterable[str]) -> Iterator[Amount]:
    """Yield the transitions of one execution by the kinds of the steps it has entered."""
    for kind in kinds:
        yield Amount("fnf.transitions", flow, kind, 1)
