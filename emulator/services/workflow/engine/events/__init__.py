"""The kinds of events. A history is a list of them; an execution's state is their fold.

Source: viewing the execution history, Serverless Workflow guide (the events of two passes, the detail of a caught
error); members and sequences without such a record are assumed.
"""

from emulator.services.workflow.engine.events.execution import (
    ExecutionFailed,
    ExecutionStarted,
    ExecutionStopped,
    ExecutionSucceeded,
    ExecutionTimedOut,
    FinalEvent,
    UnhappyEnd,
)
from emulator.services.workflow.engine.events.kind import Event, Failure
from emulator.services.workflow.engine.events.reading import KINDS, fold, read
from emulator.services.workflow.engine.events.step import (
    BranchEntered,
    BranchExited,
    IterationEntered,
    IterationExited,
    StepEntered,
    StepExited,
    StepFailed,
    StepStarted,
    StepSucceeded,
)
from emulator.services.workflow.engine.events.task import (
    AttemptFailure,
    MapRunStarted,
    Submission,
    TaskFailed,
    TaskScheduled,
    TaskStarted,
    TaskSubmitFailed,
    TaskSubmitted,
    TaskSucceeded,
    TaskTimedOut,
)

__all__ = [
    "Event",
    "Failure",
    "FinalEvent",
    "UnhappyEnd",
    "ExecutionStarted",
    "ExecutionStopped",
    "ExecutionSucceeded",
    "ExecutionFailed",
    "ExecutionTimedOut",
    "StepEntered",
    "StepStarted",
    "StepSucceeded",
    "StepFailed",
    "StepExited",
    "BranchEntered",
    "BranchExited",
    "IterationEntered",
    "IterationExited",
    "AttemptFailure",
    "Submission",
    "TaskScheduled",
    "TaskStarted",
    "TaskSubmitted",
    "MapRunStarted",
    "TaskSubmitFailed",
    "TaskSucceeded",
    "TaskFailed",
    "TaskTimedOut",
    "KINDS",
    "fold",
    "read",
]
