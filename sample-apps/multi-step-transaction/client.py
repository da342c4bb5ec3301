"""Order a journey through the flow of this folder and check that it ends as its input asks for."""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from workflow_client import _, command_line, main, say

FLOW = "fnf-demo-multi-step-transaction"
DEFAULT_INPUT = {
    "buy_train_ticket_result": "success",
    "reserve_flight_result": "success",
    "reserve_hotel_result": False,
}

UNDONE = {
    "buy_train_ticket_result": [],
    "reserve_flight_result": ["CancelTrainTicket"],
    "reserve_hotel_result": ["CancelFlight", "CancelTrainTicket"],
}
"""The compensation that the first input that is JSON false leads to, in the order of the bookings."""


def order(session):
    """Run the flow once; true when status and compensation are those of the input."""
    asked = json.loads(session.given.input)
    failing = next((name for name in UNDONE if asked.get(name) is False), None)
    expected = ["OrderSucceeded"] if failing is None else [*UNDONE[failing], "OrderFailed"]

    with session.flow(FLOW, Path(__file__).with_name("flow.yml")):
        finished = session.execute(FLOW, session.given.input)

    entered = [event["StepName"] for event in finished["Events"] if event["Type"] == "StepEntered"]
    ended = finished["Status"] == ("Succeeded" if failing is None else "Failed")
    if ended and entered[-len(expected) :] == expected:
        say(_("as expected: {steps}", steps=" -> ".join(entered)))
        return True
    say(_("not as expected: {steps} should end with {end}", steps=" -> ".join(entered), end=" -> ".join(expected)))
    return False


if __name__ == "__main__":
    main(order, command_line("Order a journey and undo what was booked when a part fails.", json.dumps(DEFAULT_INPUT)))
