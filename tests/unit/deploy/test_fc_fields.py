"""Properties of functions and what belongs to them, read by the service's own tables."""

import pytest

from emulator.deploy import fc_fields
from emulator.deploy.notation import members
from emulator.deploy.places import Findings, LocatedValue
from emulator.services.fc.asynchronous.model import CONFIG_2, CONFIG_3
from emulator.services.fc.capacity.model import CONCURRENCY, PROVISION, SCALING
from emulator.services.fc.catalog import alias_fields, domain_fields
from emulator.services.fc.catalog import fields as catalog


def part_of(value):
    findings = Findings()
    return LocatedValue(value, (), {}, findings), findings


def names_of(table):
    return {field.name for field in table}


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (fc_fields.SERVICE, {row.name for row in catalog.SERVICE}),
        (fc_fields.FUNCTION_2, {row.name for row in catalog.FUNCTION_2}),
        (fc_fields.FUNCTION_3, {row.name for row in catalog.FUNCTION_3}),
        (fc_fields.ALIAS, {row.name for row in alias_fields.ALIAS}),
        (fc_fields.LAYER, {row.name for row in catalog.LAYER}),
        (fc_fields.ASYNC_2, {row.name for row in CONFIG_2}),
        (fc_fields.ASYNC_3, {row.name for row in CONFIG_3}),
        (fc_fields.PROVISION, names_of(PROVISION) - {"defaultTarget"}),
        (fc_fields.SCALING, names_of(SCALING)),
        (fc_fields.CONCURRENCY, names_of(CONCURRENCY)),
        (fc_fields.ROUTE, names_of(domain_fields.ROUTE)),
        (fc_fields.DOMAIN, names_of(domain_fields.DOMAIN)),
    ],
)
def test_files_take_what_the_service_takes(table, names):
    """No attribute of a resource is missing in files."""
    assert names <= names_of(table)


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


@pytest.mark.parametrize(
    ("asked", "begin_rule"), [("auto", "DefaultRegex"), ("AUTO", "DefaultRegex"), ("auto|logBeginRule=None", "None")]
)
def test_auto_is_the_log_project_that_the_component_names(asked, begin_rule):
    """One per account and region; the number of the account's text is uuid-by-string's own example."""
    log = fc_fields.log_of_auto(asked, "Hello world!", "cn-hangzhou")

    assert log == {
        "project": "serverless-cn-hangzhou-d3486ae9-136e-5856-bc42-212385ea7970",
        "logstore": "default-logs",
        "enableInstanceMetrics": True,
        "enableRequestMetrics": True,
        "logBeginRule": begin_rule,
    }


@pytest.mark.parametrize("given", [None, {"project": "own", "logstore": "own"}, "project"])
def test_a_log_that_is_named_stays_what_it_is(given):
    """Only ``auto`` asks for one."""
    assert fc_fields.log_of_auto(given, "1", "cn-hangzhou") is None


@pytest.mark.parametrize(
    ("service", "store"),
    [
        ("Shop", "fc-service-shop-logstore"),
        ("S" * 44, f"fc-service-{'s' * 44}-logstore"),
        ("S" * 45, "SSSSSS-5a7beb0-cn-hangzhou"),
    ],
    ids=["short", "longest", "hashed"],
)
def test_auto_of_a_service_is_the_log_project_that_its_component_names(service, store):
    """One project per account and region, one store per service; the hash is what Node.js' crypto gives."""
    log = fc_fields.log_of_auto_service("auto", "123456", "cn-hangzhou", service)

    assert log == {
        "project": "123456-cn-hangzhou-logproject",
        "logstore": store,
        "enableInstanceMetrics": True,
        "enableRequestMetrics": True,
    }


@pytest.mark.parametrize("asked", [None, {"project": "own", "logstore": "own"}])
def test_other_logs_of_services_are_left_as_they_are(asked):
    """Only ``auto`` asks for one."""
    assert fc_fields.log_of_auto_service(asked, "1", "cn-hangzhou", "shop") is None


def test_a_setting_of_auto_is_of_the_type_it_looks_like():
    """The component reads each as JSON where it can."""
    log = fc_fields.log_of_auto("auto|enableRequestMetrics=false", "1", "cn-hangzhou")

    assert (log["enableRequestMetrics"], log["enableInstanceMetrics"]) == (False, True)
