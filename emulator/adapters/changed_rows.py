"""The resource that each row belongs to, such as ``queue/orders``, so that open pages learn of its changes.

A name is a kind and the resource's own name, so that the page of one queue is not updated for another.
"""

from typing import Final

_OF_EXECUTION = (
    "(SELECT 'execution/' || flows.name || '/' || executions.name FROM workflow_executions AS executions"
    " JOIN workflow_flows AS flows ON flows.id = executions.flow WHERE executions.id = {row}.execution)"
)
_OF_QUEUE = "'queue/' || (SELECT name FROM mns_queues WHERE id = {row}.queue)"
_OF_TOPIC = "'topic/' || (SELECT name FROM mns_topics WHERE id = {row}.topic)"
_OF_DELIVERY = (
    "(SELECT 'topic/' || topics.name FROM mns_subscriptions AS subscriptions"
    " JOIN mns_topics AS topics ON topics.id = subscriptions.topic WHERE subscriptions.id = {row}.subscription)"
)
_ITS_FLOW = "(SELECT name FROM workflow_flows WHERE id = {row}.flow)"


def _function(service: str, function: str, kind: str = "function") -> str:
    """Return the SQL expression of a function's name; a function without a service has its own name only."""
    return f"'{kind}/' || CASE {service} WHEN '' THEN {function} ELSE {service} || '/' || {function} END"


_OF_FUNCTION = _function("{row}.service", "{row}.function")
_OF_CALL = _function("{row}.service", "{row}.function", "call")
_OF_SCOPE = _function("{row}.scope_service", "{row}.scope_function")

CHANGED_ROWS: Final = {
    "mns_queues": "'queue/' || {row}.name",
    "mns_messages": _OF_QUEUE,
    "mns_topics": "'topic/' || {row}.name",
    "mns_subscriptions": _OF_TOPIC,
    "mns_publications": _OF_TOPIC,
    "mns_deliveries": _OF_DELIVERY,
    "workflow_flows": "'flow/' || {row}.name",
    "workflow_versions": f"'flow/' || {_ITS_FLOW}",
    "workflow_aliases": f"'flow/' || {_ITS_FLOW}",
    "workflow_schedules": f"'schedule/' || {_ITS_FLOW} || '/' || {{row}}.name",
    "workflow_executions": f"'execution/' || {_ITS_FLOW} || '/' || {{row}}.name",
    "workflow_turns": _OF_EXECUTION,
    "workflow_wakeups": _OF_EXECUTION,
    "workflow_map_runs": _OF_EXECUTION,
    "fc_services": "'function/' || {row}.name",
    "fc_functions": _function("{row}.service", "{row}.name"),
    "fc_versions": _OF_SCOPE,
    "fc_aliases": _OF_SCOPE,
    "fc_triggers": _OF_FUNCTION,
    "fc_async_calls": _OF_CALL,
    "fc_capacity": _OF_FUNCTION,
    "fc_sessions": _OF_CALL,
    "oss_buckets": "'bucket/' || {row}.name",
    "oss_objects": "'bucket/' || {row}.bucket",
    "ram_roles": "'role/' || {row}.name",
    "lab_clock": "'clock'",
    "usage_amounts": "'usage'",
}
"""By table, the SQL expression of the name of the resource that a row, called ``{row}``, belongs to."""
