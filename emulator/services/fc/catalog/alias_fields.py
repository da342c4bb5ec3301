"""The attributes of aliases, one row each, in the three dialects."""

from emulator.services.fc.catalog.fields import DESCRIPTION
from emulator.services.fc.kinds import VERSION_ID, WEIGHTS
from emulator.wire.schema.kinds import TEXT, Field, Items, OneOf, Shape, record

_ALIAS = (
    Field(
        "versionId",
        "version_id",
        VERSION_ID,
        required=True,
        help=("version that calls to the alias reach", "通过该别名调用的版本"),
    ),
    DESCRIPTION,
)
ALIAS = Shape("Alias", (*_ALIAS, Field("additionalVersionWeight", "weights", WEIGHTS, unset=None)))
ALIAS_2023 = Shape("Alias", (*_ALIAS, Field("additionalVersionWeight", "weights", WEIGHTS, unset={})))
ALIAS_2021 = ALIAS.extended(
    Field("resolvePolicy", "resolve_policy", OneOf({"Random", "Content"})),
    Field(
        "routePolicy",
        "route_policy",
        record(
            condition=OneOf({"AND", "OR"}),
            policyItems=Items(record(type=TEXT, key=TEXT, operator=TEXT, value=TEXT)),
        ),
    ),
)
"""The fields of an alias in 2021-04-06, the only version of the API that has routing by content."""
