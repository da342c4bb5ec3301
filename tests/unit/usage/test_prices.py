"""Lists of prices: read with what is wrong at its place; free amounts, tiers and factors applied."""

import pytest

from emulator.deploy.model import FileProblems
from emulator.usage.prices import estimate, read_prices, unpriced

HEAD = "currency: CNY\nprices:\n"


def problems(text):
    with pytest.raises(FileProblems) as raised:
        read_prices(text)
    return [f"{each.line}:{each.column} {each.text}" for each in raised.value.problems]


def costs(row, amounts, scale=1.0):
    return [
        (line.units, line.free, line.billed, line.cost) for line in estimate(amounts, read_prices(HEAD + row), scale)
    ]


def test_a_price_is_for_so_many_units_beyond_the_free_ones():
    """5,000 of 25,000 transitions are free; 1.7 for each 10,000."""
    row = "  - {name: t, items: {fnf.transitions: 1}, per: 10000, free: 5000, price: 1.7}"

    assert costs(row, {"fnf.transitions": 25_000}) == [(25_000, 5_000, 20_000, pytest.approx(3.4))]
    assert costs(row, {"fnf.transitions": 4_000}) == [(4_000, 4_000, 0, 0)]


def test_items_go_into_a_unit_by_their_factors():
    """The compute units of Function Compute: 75 for 10,000 calls, 1 for a vCPU-second, 0.15 for a GB-second."""
    row = (
        "  - {name: CU, items: {fc.calls: 0.0075, fc.vcpu_seconds.active: 1, fc.memory_gb_seconds.active: 0.15},"
        " price: 0.00002}"
    )
    used = {"fc.calls": 3_000_000, "fc.memory_gb_seconds.active": 300_000, "fc.vcpu_seconds.active": 150_000}

    assert costs(row, used)[0][0] == pytest.approx(22_500 + 45_000 + 150_000)
    assert costs(row, used)[0][3] == pytest.approx(217_500 * 0.00002)


def test_tiers_are_paid_each_for_its_own_part():
    """100 at 3, 200 at 2, the rest at 1; free units lie in the first."""
    tiers = "[{up_to: 100, price: 3}, {up_to: 300, price: 2}, {price: 1}]"
    row = f"  - {{name: t, items: {{fc.calls: 1}}, free: 10, tiers: {tiers}}}"

    assert costs(row, {"fc.calls": 50})[0][3] == 40 * 3
    assert costs(row, {"fc.calls": 500})[0][3] == 90 * 3 + 200 * 2 + 200
    assert costs(row, {"fc.calls": 5})[0][3] == 0


def test_usage_is_scaled_before_what_is_free_is_taken_off():
    """A million times a run that is free is not free."""
    row = "  - {name: t, items: {fc.calls: 1}, free: 10, price: 1}"

    assert costs(row, {"fc.calls": 5}, scale=100) == [(500, 10, 490, 490)]


def test_an_estimate_names_what_is_assumed_and_what_has_no_price():
    """Only of items that were used."""
    prices = read_prices(HEAD + "  - {name: t, items: {fc.calls: 1, fc.disk_gb_seconds: 1}, price: 1}")
    used = {"fc.calls": 1, "fnf.schedules": 2}

    assert estimate(used, prices)[0].assumed == ("fc.calls",)
    assert unpriced(used, prices) == ["fnf.schedules"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices: []", "1:1 needs currency"),
        (
            HEAD + "  - {name: a, items: {fnf.transition: 1}, price: 2}",
            "3:23 prices.0.items.fnf.transition: there is no such",
        ),
        (HEAD + "  - {name: a, items: {fc.calls: 1}, prize: 2}", "3:37 prices.0.prize: there is no such attribute"),
        (HEAD + "  - {name: a, items: {fc.calls: -1}, price: 2}", "must be more than 0"),
        (HEAD + "  - {name: a, items: {fc.calls: 1}, price: cheap}", "must be a number"),
        (HEAD + "  - {name: a, items: {fc.calls: 1}, price: 1, tiers: [{price: 1}]}", "stands beside tiers"),
        (
            HEAD + "  - {name: a, items: {fc.calls: 1}, tiers: [{price: 1}, {up_to: 5, price: 1}]}",
            "only the last has no end",
        ),
        (
            HEAD + "  - {name: a, items: {fc.calls: 1}, tiers: [{up_to: 5, price: 1}, {up_to: 4, price: 1}]}",
            "ends above",
        ),
        (HEAD + "  - nothing", "must be a map"),
        ("currency: [", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, said):
    """Nothing is guessed of a list that has a mistake."""
    assert any(said in each for each in problems(text)), problems(text)
