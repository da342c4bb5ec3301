"""The navigation: five groups of pages. Names are translated where they are shown."""

from emulator.kernel.frozen import frozen

_SEVERAL = frozenset({"lab", "triggers", "making"})
"""Blueprints with several pages in the navigation, each of which stands for itself only."""

_BY_HAND = {
    "queue": "queues.index",
    "topic": "topics.index",
    "subscription": "topics.index",
    "schedule": "triggers.schedules",
    "role": "making.roles",
    "bucket": "buckets.index",
}
"""The list that the form of a kind belongs to; forms of other kinds belong to functions."""


@frozen(kw_only=False)
class Group:
    """A group of pages: its name, and endpoint and name of each page; its link leads to the first."""

    name: str
    pages: tuple[tuple[str, str], ...]


GROUPS = (
    Group(
        "Run",
        (
            ("overview.overview", "Overview"),
            ("requests.index", "Requests"),
            ("clock.show", "Clock"),
            ("usage.index", "Usage"),
            ("start.index", "Start here"),
        ),
    ),
    Group("Messages", (("queues.index", "Queues"), ("topics.index", "Topics"), ("lives.index", "Message tracking"))),
    Group("Flows", (("flows.index", "Flows"), ("triggers.schedules", "Schedules"))),
    Group(
        "Functions", (("functions.index", "Functions"), ("triggers.index", "Triggers"), ("buckets.index", "Buckets"))
    ),
    Group(
        "Lab",
        (
            ("lab.faults", "Faults"),
            ("lab.mocks", "Mocks"),
            ("lab.checkpoints", "Checkpoints"),
            ("explorations.index", "Explorations"),
            ("lab.accounts", "Accounts"),
            ("making.roles", "Roles"),
        ),
    ),
)

NAMES = frozenset({name for group in GROUPS for name in (group.name, *(page for _, page in group.pages))})
"""Every name of the navigation, for the catalogue."""


def place_of(endpoint: str, kind: str = "") -> tuple[Group, str]:
    """Return the group of the page *endpoint*, and the endpoint of the list it belongs to, "" for none.

    A page outside of the navigation, such as that of one queue, belongs to the list of its blueprint, a form to the
    list of the *kind* of resource it is for.
    """
    if kind:
        endpoint = _BY_HAND.get(kind, "functions.index")
    elif endpoint.startswith(("designing.", "histories.")):
        endpoint = "flows.index"
    blueprint = endpoint.partition(".")[0]
    for group in GROUPS:
        for each, _ in group.pages:
            if each == endpoint or (blueprint not in _SEVERAL and each.partition(".")[0] == blueprint):
                return group, each
    return next((group for group in GROUPS if group.pages[0][0].startswith(f"{blueprint}.")), GROUPS[0]), ""
