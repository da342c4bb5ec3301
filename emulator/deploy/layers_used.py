"""Layers that functions of a file name but that do not exist here: other accounts' are left out, own ones missing."""

from urllib.parse import quote

from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Blueprint, Refused, Resource, Target, has_token
from emulator.deploy.provider import ApiClient, is_not_there
from emulator.kernel.frozen import frozen, replace
from emulator.services.fc.catalog.layers import OFFICIAL, parse_layer_arn


@frozen
class MissingLayer:
    """A layer, by its ARN, that a function names and that does not exist here."""

    resource: Resource
    arn: str
    is_foreign: bool
    """Whether it belongs to another account or region: the function is deployed without it."""


def without_foreign_layers(
    api: ApiClient, blueprint: Blueprint, target: Target
) -> tuple[Blueprint, tuple[MissingLayer, ...]]:
    """Return a blueprint without other accounts' layers that this emulator lacks, and all missing layers.

    Raises: Refused.
    """
    made = {each.identity[0] for each in blueprint.resources if "LayerName" in PROVIDERS[each.kind].names}
    there: dict[str, bool] = {}
    found: list[MissingLayer] = []
    for each in blueprint.resources:
        arns = each.properties.get("layers")
        found.extend(
            MissingLayer(resource=each, arn=arn, is_foreign=_is_foreign(arn, target))
            for arn in arns or []
            if _is_missing(api, arn, there) and _name(arn) not in made
        )
    foreign = {layer.arn for layer in found if layer.is_foreign}
    resources = tuple(_without(each, foreign) for each in blueprint.resources)
    return replace(blueprint, resources=resources), tuple(found)


def _name(arn: str) -> str:
    layer = parse_layer_arn(arn)
    return layer.name if layer is not None else ""


def _without(resource: Resource, arns: set[str]) -> Resource:
    layers = resource.properties.get("layers")
    kept = [arn for arn in layers or [] if arn not in arns]
    return resource if kept == (layers or []) else replace(resource, properties={**resource.properties, "layers": kept})


def _is_missing(api: ApiClient, arn: object, there: dict[str, bool]) -> bool:
    """Whether a layer does not exist here; False for those of the cloud itself, which the service accepts."""
    if not isinstance(arn, str) or has_token(arn):
        return False
    layer = parse_layer_arn(arn)
    if layer is None or layer.account == OFFICIAL:
        return False
    if arn not in there:
        try:
            api.functions("GET", f"/2023-03-30/layerarn/{quote(arn, safe='')}")
            there[arn] = True
        except Refused as error:
            if not is_not_there(error):
                raise
            there[arn] = False
    return not there[arn]


def _is_foreign(arn: str, target: Target) -> bool:
    region, account = arn.split(":")[2:4]
    return account not in {"", target.account} or region not in {"", target.region}
