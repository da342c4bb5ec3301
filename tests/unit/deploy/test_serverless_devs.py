"""s.yaml -> resources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.deploy.errors import FileProblems
from emulator.deploy.model import Target, has_token
from emulator.deploy.shapes import Findings, whole
from tests.unit.deploy.anything import refusals_of, replaced, values_of

EDITION_3 = """\
edition: 3.0.0
name: shop
access: default
vars: {prefix: orders}
resources:
  flow:
    component: fnf
    props:
      name: ${vars.prefix}-flow
      definition: |
        version: v1
        # ${resources.api.output.functionArn}
      schedules: [{name: nightly, cronExpression: '@every 1h', payload: null}]
  api:
    component: fc3@1.2
    actions: {pre-deploy: [{run: make}]}
    props:
      region: cn-qingdao
      functionName: ${vars.prefix}-api
      runtime: python3.10
      handler: index.handler
      code: ./code
      environmentVariables: {STAGE: "${env('STAGE', 'test')}", HERE: '${this.props.functionName}', RAW: '${HOME}'}
      triggers:
        - {triggerName: http, triggerType: http, triggerConfig: {authType: anonymous, methods: [GET]}}
      provisionConfig: {defaultTarget: 2, qualifier: actual}
  jobs:
    component: mns
    props:
      queues: [{queueName: jobs, visibilityTimeout: 60}]
      topics: [{name: news, subscriptions: [{name: s, endpoint: jobs}]}]
"""
EDITION_1 = """\
edition: 1.0.0
name: shop
services:
  one:
    component: devsapp/fc
    props:
      service: {name: shop, nasConfig: {mountPoints: [{serverAddr: h, nasDir: /a, fcDir: /mnt}]}, tracingConfig: Enable}
      function: {name: f, runtime: python3.10, handler: index.handler, codeUri: ./code}
      triggers:
        - name: put
          type: oss
          role: caller
          config: {bucketName: b, events: ['oss:ObjectCreated:*'], filter: {Key.Prefix: a/, Key.Suffix: .txt}}
      customDomains:
        - {domainName: shop.example.com, routeConfigs: [{path: '/*'}]}
  two:
    component: fc
    props:
      service: {name: shop}
      function:
        name: g
        runtime: python3.10
        handler: index.handler
        codeUri: ./code
        description: '${one.props.function.name}'
"""


def test_edition_three_is_resolved_in_the_order_of_its_references(resources):
    """Variables, outputs of other resources and defaults of the environment are filled in; other texts stay."""
    found = resources(EDITION_3, {"STAGE": "actual"})

    function = found["fc3.function", "orders-api"]
    assert function.properties["environmentVariables"] == {"STAGE": "actual", "HERE": "orders-api", "RAW": "${HOME}"}
    assert "acs:fc:cn-hangzhou:123456:functions/orders-api" in found["fnf.flow", "orders-flow"].properties["Definition"]
    assert found["fnf.schedule", "orders-flow/nightly"].properties["Payload"] == ""
    assert found["fc3.provision", "orders-api/actual"].properties["target"] == 2
    assert found["mns.subscription", "news/s"].properties["Endpoint"] == "acs:mns:cn-hangzhou:123456:queues/jobs"
    kinds = [kind for kind, _ in found]
    assert kinds.index("fc3.function") < kinds.index("fnf.flow")


def test_address_of_a_function_is_open_until_it_is_there(resources):
    """url.system_url is known once the trigger has been made."""
    text = EDITION_3.replace("functionArn}", "url.system_url}")

    assert has_token(resources(text)["fnf.flow", "orders-flow"].properties)


def test_edition_one_has_services(resources):
    """Modules share a service; spellings of the component become those of the API."""
    found = resources(EDITION_1)

    assert found["fc.service", "shop"].properties["nasConfig"]["mountPoints"] == [
        {"serverAddr": "h:/a", "mountDir": "/mnt"}
    ]
    trigger = found["fc.trigger", "shop/f/put"].properties
    assert trigger["sourceArn"] == "acs:oss:cn-hangzhou:123456:b"
    assert trigger["triggerConfig"] == {
        "events": ["oss:ObjectCreated:*"],
        "filter": {"key": {"prefix": "a/", "suffix": ".txt"}},
    }
    assert trigger["invocationRole"] == "acs:ram::123456:role/caller"
    assert found["fc.domain", "shop.example.com"].properties["routeConfig"]["routes"][0]["functionName"] == "f"
    assert found["fc.function", "shop/g"].properties["description"] == "f"


def test_what_is_not_done_is_noted(blueprint):
    """Actions are not run, another region is not there."""
    _, notes = blueprint(EDITION_3)

    assert [note.line for note in notes] == [16, 18]


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("component: fnf", "component: fnff", 7, "did you mean fnf?"),
        ("handler: index", "handlr: index", 21, "did you mean handler?"),
        ("${vars.prefix}-api", "${vars.suffix}-api", 19, "leads nowhere"),
        ("${env('STAGE', 'test')}", "${env('STAGE')}", 23, "STAGE is not set"),
        ("${resources.api.output", "${resources.apu.output", 10, "there is no resource apu"),
        ("./code", "./gone", 22, "there is no ./gone"),
        ("triggerType: http", "triggerType: htp", 25, "did you mean http?"),
        ("methods: [GET]", "method: [GET]", 25, "did you mean methods?"),
        ("vars: {prefix", "vrs: {prefix", 4, "did you mean vars?"),
        ("prefix: orders", "prefix: '${vars.prefix}'", 4, "too deeply"),
    ],
)
def test_problem_names_line_and_reason(blueprint, old, new, line, told):
    """What is not known is told where it stands."""
    assert old in EDITION_3

    with pytest.raises(FileProblems) as caught:
        blueprint(EDITION_3.replace(old, new))

    assert any(each.line == line and told in each.text for each in caught.value.problems), caught.value.problems


WORLD = Target(account="1", region="r", endpoint="http://e", name="n")
WORDS = st.sampled_from(
    ["component", "props", "fc", "fc3", "fnf", "mns", "name", "a", "b", "${a.output.x}", "${this.props.name}",
     "service", "function", "triggers", "config", "type", "http", "oss", "functionName", "code", "runtime",
     "queues", "definition",
     "${vars.a}", "customDomains", "domainName", "filter", "key", "schedules", "topics", "subscriptions", "${env('A')}"]
)  # fmt: skip
VALUES = values_of(WORDS)


@given(st.dictionaries(WORDS, VALUES, max_size=4), st.dictionaries(WORDS, VALUES, max_size=3))
def test_any_project_is_read_or_refused_with_lines(tmp_path_factory, modules, others):
    """Whatever stands where, nothing but FileProblems comes out."""
    refused = refusals_of(
        {"edition": "3.0.0", "vars": others, "resources": modules}, WORLD, tmp_path_factory.getbasetemp()
    )

    assert all(problem.line >= 1 for problem in refused)


@given(st.data())
def test_project_with_something_else_somewhere_is_read_or_refused_with_lines(tmp_path_factory, data):
    """A sound project in which any one value, or two, are replaced by others."""
    changed = whole(data.draw(st.sampled_from([EDITION_1, EDITION_3])), Findings()).value
    for _ in range(data.draw(st.integers(1, 2))):
        changed = replaced(changed, data, VALUES)

    refused = refusals_of(changed, WORLD, tmp_path_factory.getbasetemp())

    assert all(problem.line >= 1 for problem in refused)
