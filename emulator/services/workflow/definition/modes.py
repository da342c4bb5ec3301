"""What the execution mode of a flow allows in its definition."""

from collections.abc import Iterator

from emulator.services.workflow.definition.nodes import StepList, TaskStep, inner_lists


def waiting_tasks(steps: StepList) -> Iterator[TaskStep]:
    """Yield the tasks, in all depths, that wait for more than the reply of their call: not for express flows.

    Source: express executions, Serverless Workflow guide; that such a definition is refused at once is assumed.
    """
    for step in steps.steps:
        if isinstance(step, TaskStep) and step.pattern != "requestResponse":
            yield step
        for inner in inner_lists(step):
            yield from waiting_tasks(inner)
