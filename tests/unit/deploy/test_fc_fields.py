"""Properties of functions and what belongs to them, read by the service's own tables."""

import pytest

from emulator.deploy import fc_fields
from emulator.deploy.shapes import Findings, LocatedValue, members
from emulator.services.fc.asynchronous.model import CONFIG_2, CONFIG_3
from emulator.services.fc.capacity.model import CONCURRENCY, PROVISION, SCALING
from emulator.services.fc.catalog import fields as catalog
from emulator.services.fc.triggers.model import KINDS


def part_of(value):
    findings = Findings()
    return LocatedValue(value, (), {}, findings), findings


def names_of(table):
    return {field.name for field in table}


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (fc_fields.SERVICE, {row.wire for row in catalog.SERVICE}),
        (fc_fields.FUNCTION_2, {row.wire for row in catalog.FUNCTION_2}),
        (fc_fields.FUNCTION_3, {row.wire for row in catalog.FUNCTION_3}),
        (fc_fields.ALIAS, {row.wire for row in catalog.ALIAS}),
        (fc_fields.LAYER, {row.wire for row in catalog.LAYER}),
        (fc_fields.ASYNC_2, {row.wire for row in CONFIG_2}),
        (fc_fields.ASYNC_3, {row.wire for row in CONFIG_3}),
        (fc_fields.PROVISION, PROVISION.fields.keys() - {"defaultTarget"}),
        (fc_fields.SCALING, SCALING.fields.keys()),
        (fc_fields.CONCURRENCY, CONCURRENCY.fields.keys()),
        (fc_fields.ROUTE, catalog.ROUTE.fields.keys()),
        (fc_fields.DOMAIN, catalog.DOMAIN.fields.keys()),
    ],
)
def test_files_take_what_the_service_takes(table, names):
    """No attribute of a resource is missing in files."""
    assert names <= names_of(table)


def test_every_trigger_type_of_the_service_can_stand_in_a_file():
    """Those that are passed on to other services too."""
    assert fc_fields.TRIGGER_TYPES == KINDS


def test_words_of_an_http_trigger_get_the_spelling_of_the_service():
    """What the service answers is then no difference to the file."""
    part, findings = part_of({"AuthType": "ANONYMOUS", "Methods": "get", "DisableURLInternet": "true"})

    config = fc_fields.trigger_config(part, "http")

    assert config == {"authType": "anonymous", "methods": ["GET"], "disableURLInternet": True}
    assert findings.problems == []


def test_names_in_a_filter_have_any_case():
    """Component fc writes Key and Prefix, fc3 key and prefix."""
    part, _ = part_of({"events": "oss:ObjectCreated:*", "filter": {"Key": {"Prefix": "a/"}}})

    assert fc_fields.trigger_config(part, "oss") == {
        "events": ["oss:ObjectCreated:*"],
        "filter": {"key": {"prefix": "a/"}},
    }


def test_a_word_that_the_service_does_not_know_is_a_problem_with_a_suggestion():
    """Also inside a schedule and in what another service gets."""
    schedule, in_schedule = part_of({"target": 1, "scheduledActions": [{"name": "n", "target": 2, "startTme": "x"}]})
    config, in_trigger = part_of({"subscriptionObject": []})

    members(schedule, fc_fields.PROVISION, capital=False)
    fc_fields.trigger_config(config, "rds")

    assert "did you mean startTime?" in in_schedule.problems[0].text
    assert "did you mean subscriptionObjects?" in in_trigger.problems[0].text


def test_a_domain_can_have_cross_origin_rules():
    """As it can through the API."""
    cors = {"allowOrigins": ["https://app.example"], "allowCredentials": True, "maxAge": 60}
    part, findings = part_of({"domainName": "shop.example.com", "corsConfig": cors})

    assert members(part, fc_fields.DOMAIN, capital=False)["corsConfig"] == cors
    assert findings.problems == []
