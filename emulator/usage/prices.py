"""The cost of usage by a price list, which the user provides: none comes with the emulator.

A list is a YAML file: a currency, and lines. A line has the items it bills (each with the factor that converts it to
the line's unit), a free amount, and a price or tiers of prices. Usage is taken as that of one month.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from emulator.deploy.declared import Declared
from emulator.deploy.places import Findings, LocatedValue, whole
from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.usage.items import BY_NAME
from emulator.wire.schema.kinds import LIST, OBJECT, Field, Number, Shape, Text

_TEXT = Text(200)
_AMOUNT = Number(0)
_POSITIVE = Number(0, open=True)

LIST_OF_PRICES = Shape(
    "PriceList",
    (
        Field("currency", "currency", _TEXT, required=True,
              help=("Currency of the prices, such as CNY.", "币种，例如 CNY。")),
        Field("prices", "prices", LIST, required=True, help=("The prices.", "价目。")),
    ),
)  # fmt: skip

PRICE = Shape(
    "Price",
    (
        Field("name", "name", _TEXT, required=True, help=("Name of the line.", "该行的名称。")),
        Field("items", "items", OBJECT, required=True,
              help=("Items, each with its conversion factor.", "计量项及其换算系数。")),
        Field("per", "per", _POSITIVE, 1, help=("Number of units that the price covers.", "价格对应的数量。")),
        Field("free", "free", _AMOUNT, 0, help=("Free units per month.", "每月免费额度。")),
        Field("price", "price", _AMOUNT, 0, help=("The price; or tiers.", "单价；或使用 tiers。")),
        Field("tiers", "tiers", LIST, (),
              help=("Tiers instead of one price: each up to an amount, the last unlimited.",
                    "代替单一价格的阶梯价，最后一档没有上限。")),
        Field("source", "source", _TEXT, "", help=("Source of the price.", "价格来源。")),
    ),
)  # fmt: skip

TIER = Shape(
    "Tier",
    (
        Field("up_to", "up_to", _POSITIVE, None,
              help=("Upper limit of the tier, including free units.", "该档上限，含免费额度。")),
        Field("price", "price", _AMOUNT, required=True, help=("The price.", "单价。")),
    ),
)  # fmt: skip


@frozen
class Tier:
    """A price for the units up to *up_to*, None for no limit."""

    up_to: float | None
    price: float


@frozen
class Price:
    """A line of a list: the factor of each item, and the prices of *per* units beyond the *free* ones."""

    name: str
    items: Mapping[str, float]
    per: float
    free: float
    tiers: tuple[Tier, ...]
    source: str = ""


@frozen
class PriceList:
    """A user's price list."""

    currency: str
    prices: tuple[Price, ...]


@frozen
class Line:
    """The cost by one line of the list: units used, free and billed.

    ``assumed`` names the items whose rules are guesses in a part.
    """

    name: str
    units: float
    free: float
    billed: float
    cost: float
    assumed: tuple[str, ...] = field(default_factory=tuple)


def read_prices(text: str) -> PriceList:
    """Read a list of prices.

    Raises: FileProblems, with what is wrong at its place.
    """
    findings = Findings()
    root = whole(text, findings)
    head = _FILE.read(LIST_OF_PRICES, root)
    prices = [_price(part) for part in root.member("prices").items()]
    findings.check()
    return PriceList(currency=head["currency"], prices=tuple(prices))


def estimate(amounts: Mapping[str, float], prices: PriceList, scale: float = 1.0) -> list[Line]:
    """Return the cost of *amounts* of items, each times *scale*, in a month without other usage."""
    return [_line(price, amounts, scale) for price in prices.prices]


def unpriced(amounts: Mapping[str, float], prices: PriceList) -> list[str]:
    """Return the items that were used and have no price."""
    priced = {item for price in prices.prices for item in price.items}
    return [item for item in amounts if item not in priced]


def _line(price: Price, amounts: Mapping[str, float], scale: float) -> Line:
    used = {item: amounts[item] * factor * scale for item, factor in price.items.items() if amounts.get(item)}
    units = sum(used.values())
    cost, begin = 0.0, price.free
    for tier in price.tiers:
        end = units if tier.up_to is None else min(units, tier.up_to)
        cost += max(0.0, end - begin) / price.per * tier.price
        begin = max(begin, end)
    return Line(
        name=price.name,
        units=units,
        free=min(units, price.free),
        billed=max(0.0, units - price.free),
        cost=cost,
        assumed=tuple(item for item in used if BY_NAME[item].assumed[0]),
    )


class _Prices(Declared):
    """`Declared` with numbers."""

    def number(self, kind: Number) -> Any:
        """Take a number in its range."""

        def read(part: LocatedValue) -> Any:
            value = part.value
            if not isinstance(value, int | float) or isinstance(value, bool):
                return self.refused(part, "must be a number")
            least = kind.low or 0
            if value < least or (kind.open and value == least):
                text = "must be more than {least:g}" if kind.open else "must be at least {least:g}"
                return self.refused(part, Phrase(text, least=least))
            return float(value)

        return read

    def json(self, kind: Any) -> Any:
        """Take a list or a map as it is; its content is read separately."""
        form, words = (list, "must be a list") if kind.only == "list" else (dict, "must be a map")
        return lambda part: part.value if isinstance(part.value, form) else self.refused(part, words)


_FILE = _Prices("file")


def _price(part: LocatedValue) -> Price:
    values = _with_defaults(PRICE, part)
    tiers = [_with_defaults(TIER, each) for each in part.member("tiers").items()] if values["tiers"] else []
    if tiers and "price" in (part.value or {}):
        part.member("price").problem("stands beside tiers: one of the two")
    ends = [tier["up_to"] for tier in tiers]
    if None in ends[:-1] or any(low >= high for low, high in itertools.pairwise(ends) if low and high):
        part.member("tiers").problem("each tier ends above the one before it, and only the last has no end")
    return Price(
        name=values["name"],
        items=_factors(part.member("items")),
        per=values["per"] or 1,
        free=values["free"],
        tiers=tuple(Tier(up_to=tier["up_to"], price=tier["price"] or 0) for tier in tiers)
        or (Tier(up_to=None, price=values["price"]),),
        source=values["source"],
    )


def _with_defaults(shape: Shape, part: LocatedValue) -> dict[str, Any]:
    if not isinstance(part.value, dict):
        part.problem("must be a map")
        return {each.name: each.default for each in shape} | {"name": "", "price": 0.0}
    given = _FILE.read(shape, part)
    return {each.name: given.get(each.name, each.default) for each in shape}


def _factors(part: LocatedValue) -> dict[str, float]:
    factors = {}
    for entry in part.entries():
        if entry.name not in BY_NAME:
            entry.problem("there is no such item", suggestion(entry.name, list(BY_NAME)))
        elif (factor := _FILE.reader(_POSITIVE)(entry)) is not None:
            factors[entry.name] = factor
    return factors
