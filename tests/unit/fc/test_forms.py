"""Golden answers: what each form shows of what was never set: nothing, null, an empty value or a default."""

import pytest

TIME = "2023-11-14T22:13:20Z"
OLD, NEW = "/2016-08-15", "/2021-04-06"
BOTH = pytest.mark.parametrize("api", [OLD, NEW])


@BOTH
async def test_service_with_nothing_set_shows_every_structure(site, api):
    """Clients follow the pointers of logConfig and role without looking."""
    made = await site.ask("POST", f"{api}/services", {"serviceName": "shop"})

    shown = made.body
    assert shown.pop("serviceId")
    assert shown == {
        "serviceName": "shop", "description": "", "role": "", "internetAccess": True,
        "logConfig": {
            "project": "", "logstore": "", "enableRequestMetrics": False, "enableInstanceMetrics": False,
            "logBeginRule": "None",
        },
        "vpcConfig": {"vpcId": "", "vSwitchIds": [], "securityGroupId": ""},
        "nasConfig": {"userId": -1, "groupId": -1, "mountPoints": []},
        "tracingConfig": {"type": None, "params": None},
        "createdTime": TIME, "lastModifiedTime": TIME, "useSLRAuthentication": False,
    }  # fmt: skip


async def test_tracing_that_is_switched_off_shows_nulls(site):
    """An empty tracingConfig removes what was set."""
    tracing = {"type": "Jaeger", "params": {"endpoint": "http://x"}}
    await site.v1("POST", "/services", {"serviceName": "shop", "tracingConfig": tracing})

    changed = await site.v1("PUT", "/services/shop", {"tracingConfig": {}})

    assert changed.body["tracingConfig"] == {"type": None, "params": None}


@BOTH
async def test_function_with_nothing_set_shows_defaults(site, api):
    """Structures that were never set are absent, numbers show what holds."""
    await site.make_function()

    got = (await site.ask("GET", f"{api}/services/shop/functions/order")).body

    for volatile in ("functionId", "codeSize", "codeChecksum"):
        assert got.pop(volatile)
    assert got == {
        "functionName": "order", "runtime": "python3.10", "handler": "index.handler", "description": "",
        "timeout": 3, "memorySize": 128, "instanceConcurrency": 1, "instanceType": "e1",
        "initializationTimeout": 3, "environmentVariables": {}, "layers": [], "layersArnV2": [],
        "createdTime": TIME, "lastModifiedTime": TIME,
    }  # fmt: skip


async def test_container_shows_how_its_image_is_accelerated(site):
    """The status is a text, not a null."""
    container = {"image": "i", "accelerationType": "Default"}

    made = await site.make_function(runtime="custom-container", code=None, customContainerConfig=container)

    assert made.body["customContainerConfig"] == {**container, "accelerationInfo": {"status": "Ready"}}


@pytest.mark.parametrize(("api", "weights"), [(OLD, None), (NEW, None)])
@pytest.mark.parametrize("given", [{}, {"additionalVersionWeight": {}}, {"additionalVersionWeight": None}])
async def test_alias_without_weights_shows_null(open_site, api, weights, given):
    """Never set and set to nothing look alike."""
    async with open_site() as site:
        await site.make_function()
        await site.v1("POST", "/services/shop/versions", {})

        made = await site.ask("POST", f"{api}/services/shop/aliases", {"aliasName": "a", "versionId": "1", **given})

        assert made.body == {
            "aliasName": "a", "versionId": "1", "description": "", "additionalVersionWeight": weights,
            "createdTime": TIME, "lastModifiedTime": TIME,
        }  # fmt: skip


async def test_alias_may_give_its_own_version_a_weight(site):
    """The weight changes nothing and is shown as sent."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {})
    alias = {"aliasName": "a", "versionId": "1", "additionalVersionWeight": {"1": 0.9}}

    made = await site.v1("POST", "/services/shop/aliases", alias)

    assert made.body["additionalVersionWeight"] == {"1": 0.9}


async def test_http_trigger_has_no_source_and_a_role_as_sent(site):
    """The source is null whatever was sent; the role is a text, empty without one."""
    await site.make_function()
    trigger = {
        "triggerName": "web", "triggerType": "http", "sourceArn": "dummy_arn", "invocationRole": "",
        "triggerConfig": {"authType": "anonymous", "methods": ["GET"]},
    }  # fmt: skip

    made = await site.v1("POST", "/services/shop/functions/order/triggers", trigger)

    assert (made.body["sourceArn"], made.body["invocationRole"]) == (None, "")


@pytest.mark.parametrize(("kind", "bus"), [("Default", "default"), ("MNS", "MNS-order-rule")])
async def test_event_rule_is_named_by_the_service_and_changed_member_by_member(site, kind, bus):
    """The source is the rule that the service makes; an update keeps what it leaves out."""
    await site.make_function()
    trigger = {
        "triggerName": "rule", "triggerType": "eventbridge",
        "triggerConfig": {"triggerEnable": True, "eventSourceConfig": {"eventSourceType": kind}},
    }  # fmt: skip
    path = "/services/shop/functions/order/triggers"

    made = await site.v1("POST", path, trigger)
    changed = await site.v1("PUT", f"{path}/rule", {"triggerConfig": {"asyncInvocationType": True}})

    arn = f"acs:eventbridge:cn-hangzhou:123456789012:eventbus/{bus}/rule/shop-order-rule"
    assert made.body["sourceArn"] == changed.body["sourceArn"] == arn
    assert changed.body["triggerConfig"] == {**trigger["triggerConfig"], "asyncInvocationType": True}


LISTS = {
    "/services": {"services": []},
    "/custom-domains": {"customDomains": []},
    "/layers": {"layers": []},
    "/provision-configs": {"provisionConfigs": []},
    "/on-demand-configs": {"configs": None},
    "/stateful-async-invocation-functions": {"data": []},
}


@BOTH
@pytest.mark.parametrize("path", LISTS)
async def test_list_at_its_end_has_no_token(site, api, path):
    """A client that goes on while the token is not null comes to an end."""
    assert (await site.ask("GET", api + path)).body == LISTS[path]


@BOTH
@pytest.mark.parametrize("what", ["functions", "versions", "aliases"])
async def test_list_of_a_service_at_its_end_has_no_token(site, api, what):
    """The lists within a service are of the same form."""
    await site.make_function()

    assert "nextToken" not in (await site.ask("GET", f"{api}/services/shop/{what}")).body


async def test_asynchronous_configurations_have_an_empty_token_at_their_end(site):
    """The one list of that kind: its tokens are qualifiers, and it is null when there is nothing."""
    await site.make_function()
    path = "/services/shop{}/functions/order/async-invoke-config"
    none = await site.v1("GET", path.format("") + "s")
    await site.v1("POST", "/services/shop/versions", {})
    for qualifier in ("a", "b"):
        await site.v1("POST", "/services/shop/aliases", {"aliasName": qualifier, "versionId": "1"})
        await site.v1("PUT", path.format(f".{qualifier}"), {})

    first = await site.v1("GET", path.format("") + "s?limit=1")
    rest = await site.v1("GET", path.format("") + "s?limit=1&nextToken=b")

    assert none.body == {"configs": None, "nextToken": ""}
    assert first.body["nextToken"] == "b"
    assert ([row["qualifier"] for row in rest.body["configs"]], rest.body["nextToken"]) == (["b"], "")
    assert first.body["configs"] == [
        {
            "service": "shop", "function": "order", "qualifier": "a", "createdTime": TIME,
            "lastModifiedTime": TIME, "maxAsyncEventAgeInSeconds": None, "maxAsyncRetryAttempts": None,
            "statefulInvocation": False,
        }
    ]  # fmt: skip


async def test_version_shows_its_own_description(site, pack):
    """GetService of 2.0 and GetFunction of 3.0 with a qualifier tell what was published, not what is there now."""
    await site.make_function()
    await site.v1("POST", "/services/shop/versions", {"description": "as published"})
    hello = {"functionName": "hello", "runtime": "python3.12", "handler": "index.handler", "code": pack()}
    await site.v3("POST", "/functions", {**hello, "description": "head"})
    await site.v3("POST", "/functions/hello/versions", {"description": "as published"})

    shown = [
        (await site.v1("GET", "/services/shop.1")).body["description"],
        (await site.ask("GET", "/2021-04-06/services/shop?qualifier=1")).body["description"],
        (await site.v3("GET", "/functions/hello?qualifier=1")).body["description"],
    ]

    assert shown == ["as published"] * 3
    assert (await site.v3("GET", "/functions/hello")).body["description"] == "head"


async def test_empty_tag_value_matches_any(site):
    """A filter by key alone is one with an empty value."""
    for name, value in (("a", "1"), ("b", "2")):
        await site.v1("POST", "/services", {"serviceName": name})
        await site.v1("POST", "/tag", {"resourceArn": f"services/{name}", "tags": {"k": value}})

    listed = [(await site.v1("GET", f"/services?tag_k={value}")).body["services"] for value in ("", "2")]

    assert [[row["serviceName"] for row in rows] for rows in listed] == [["a", "b"], ["b"]]


async def test_vpc_binding_can_be_named_in_the_body(site):
    """One client deletes a binding that way only, and wants 200."""
    await site.v1("POST", "/services", {"serviceName": "shop"})
    await site.v1("POST", "/services/shop/bindings", {"vpcId": "v"})

    nameless = await site.v1("DELETE", "/services/shop/binding", {})
    deleted = await site.v1("DELETE", "/services/shop/binding", {"vpcId": "v"})

    assert (nameless.code, deleted.status) == ("InvalidArgument", 200)
    assert (await site.v1("GET", "/services/shop/bindings")).body == {"vpcIds": []}


async def test_policies_of_a_provision_configuration_stay_until_they_are_emptied(site):
    """Left out they stay, an empty list removes them; the configuration stays readable at 0."""
    await site.make_function()
    path = "/services/shop.LATEST/functions/order/provision-config"
    action = {"name": "a1", "scheduleExpression": "cron(0 0 23 * * *)", "target": 5}
    await site.v1("PUT", path, {"target": 1, "scheduledActions": [action]})

    left_out = await site.v1("PUT", path, {"target": 1})
    emptied = await site.v1("PUT", path, {"target": 0, "scheduledActions": []})

    assert (left_out.body["target"], left_out.body["scheduledActions"]) == (1, [action])
    assert (emptied.body["target"], emptied.body["scheduledActions"]) == (0, [])
    assert (await site.v1("GET", path)).body["target"] == 0
    assert (await site.v1("DELETE", "/services/shop/functions/order")).status == 204


ACTION = {"name": "action1", "target": 5, "scheduleExpression": "cron(0 */30 * * * *)"}


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ([ACTION, ACTION], "Duplicate action name 'action1' in ScheduledActions is not allowed"),
        ([ACTION] * 110, "ScheduledActions contains too many values (max: 100, actual: 110)"),
        (
            [{**ACTION, "startTime": "2020-10-10T10:10:10"}],
            "The StartTime is not in UTC time format (example: '2020-10-10T10:10:10Z', actual: '2020-10-10T10:10:10')",
        ),
        (
            [{**ACTION, "scheduleExpression": "cron(0s */30 * * * *)"}],
            "The ScheduleExpression should be atTime or cron expression (example: ['at(2020-10-10T10:10:10Z)', "
            "'cron(0 */30 * * * *)'], actual: 'cron(0s */30 * * * *)')",
        ),
    ],
    ids=["twice", "many", "zone", "cron"],
)
async def test_bad_schedules_are_refused_in_the_services_words(site, actions, text):
    """Programs compare these texts."""
    await site.make_function()
    path = "/services/shop.LATEST/functions/order/provision-config"

    refused = await site.v1("PUT", path, {"target": 3, "scheduledActions": actions})

    assert (refused.status, refused.body["ErrorMessage"]) == (400, text)


@pytest.mark.parametrize(
    ("kind", "given", "allowed"), [("Sync", "Invalid", "Tail | None"), ("Async", "Tail", "None")], ids=["sync", "async"]
)
async def test_bad_log_type_is_refused_in_the_services_words(open_site, kind, given, allowed):
    """A queued call has no log to send along."""
    async with open_site() as site:
        await site.make_function()
        path = "/services/shop/functions/order/invocations"

        refused = await site.v1("POST", path, b"", X_Fc_Invocation_Type=kind, X_Fc_Log_Type=given)

        text = f"LogType is set to an invalid value (allowed: {allowed}, actual: '{given}')"
        assert (refused.code, refused.body["ErrorMessage"]) == ("InvalidArgument", text)


async def test_account_limits_are_told_by_name(site):
    """Values are texts; without names all are told."""
    every = await site.v1("GET", "/accountConfigs")
    one = await site.v1("GET", "/accountConfigs?config=CodeSizeLimit")

    assert one.body == {"CodeSizeLimit": "104857600"}
    assert set(every.body) == {"CodeSizeLimit", "EnhancedCodeSizeLimit", "GPUCodeSizeLimit", "Concurrency"}


async def test_bucket_is_not_lent_without_object_storage(site):
    """The message says why."""
    refused = await site.v1("GET", "/tempBucketToken")

    assert refused.code == "InvalidArgument"
    assert "runs without object storage" in refused.body["ErrorMessage"]
