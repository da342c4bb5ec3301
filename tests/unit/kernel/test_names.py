"""Names made from folders, logical ids, files and tests."""

import itertools
import re

import pytest

from emulator.kernel.names import (
    DEPLOYMENT,
    EVERYWHERE,
    FLOW,
    POLICY,
    PROJECT,
    ROLE,
    STACK,
    SUBSCRIPTION,
    fitted,
    told_apart,
)
from emulator.services.ram import codec
from emulator.services.ram.errors import RamError
from emulator.services.workflow.model import check_name as check_flow_name

RULES = {
    "deployment": DEPLOYMENT, "everywhere": EVERYWHERE, "flow": FLOW, "policy": POLICY, "project": PROJECT,
    "role": ROLE, "stack": STACK, "subscription": SUBSCRIPTION,
}  # fmt: skip
ODD = [
    "shop", "Shop", "my-project", "my_project", "my project", "my.project", "my--project", "My-Project",
    "项目", "项目二", "café", "7up", "-x-", "_", "..",
    "a" * 200, "a" * 199 + "b", "é" * 200, "\udcff", "Fn", "fn", "x/y", "x:y", "",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=ascii)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_any_text_gives_a_name_that_is_valid(rule, text):
    """Spaces, underscores, dots, other letters, a leading digit and any length, with and without an end."""
    assert rule.fits(fitted(text, rule))
    assert rule.fits(fitted(text, rule, end="-policy-0"))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_texts_that_differ_give_names_that_differ(rule):
    """What is replaced or cut is told apart by a digest."""
    names = [fitted(text, rule) for text in ODD]

    assert [pair for pair in itertools.combinations(names, 2) if pair[0] == pair[1]] == []


def test_names_told_apart_differ_in_more_than_case():
    """Roles whose names differ in capital letters only are one role in the cloud."""
    names = [told_apart(text, ROLE, fold=True, end="-role") for text in ODD]

    assert len({name.lower() for name in names}) == len(ODD)
    assert all(ROLE.fits(name) and name == name.lower() for name in names)


def test_name_that_fits_stays_as_it_is():
    """No name of an earlier release changes that has been valid."""
    assert fitted("app-flow", ROLE, end="-role") == "app-flow-role"
    assert fitted("my_project", DEPLOYMENT) == "my_project"
    assert fitted("my_project-flow", ROLE) == "my_project-flow"
    assert fitted("my-project", STACK) == "my-project"
    assert re.fullmatch(r"my-project-[0-9a-f]{8}-policy-0", fitted("my_project", POLICY, end="-policy-0"))


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_rules_are_those_of_the_services(text):
    """A role, a policy and a flow of such a name are taken by the services themselves."""
    try:
        assert codec.entity_name({"RoleName": fitted(text, ROLE)}, "RoleName")
        assert codec.policy_name({"PolicyName": fitted(text, POLICY)})
        check_flow_name("Name", fitted(text, FLOW))
    except RamError as error:
        pytest.fail(error.message)
