"""s.yaml -> resources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.deploy.model import FileProblems, Target, has_token, type_of
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import actions, read
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
      provisionConfig: {defaultTarget: 2, qualifier: live}
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


def test_resources_are_called_by_their_kind_in_every_output(blueprint):
    """What an s.yaml gives no type has the one that `diff` and `export` name for what only runs."""
    found, _ = blueprint(EDITION_3)

    assert {(each.type, each.logical) for each in found.resources} == {
        ("fc3 function", "api"), ("fc3 trigger", "api/http"), ("fc3 provisionConfig", "api/provision"),
        ("fnf flow", "flow"), ("fnf schedule", "flow/nightly"), ("mns queue", "jobs/jobs"), ("mns topic", "jobs/news"),
        ("mns subscription", "jobs/news/s"),
    }  # fmt: skip
    assert all(each.type == type_of(each.kind) for each in found.resources)


def test_variable_without_a_value_is_one_problem(blueprint):
    """What the reader would say of the missing value is left out; other problems are reported with it."""
    text = EDITION_3.replace("${env('STAGE', 'test')}", "${env('STAGE')}-${env('TIER')}")
    text = text.replace("'${this.props.functionName}'", "\"${env('HERE')}\", EMPTY: null")
    text = text.replace("${vars.prefix}-api", "${env('NAME')}")

    with pytest.raises(FileProblems) as refused:
        blueprint(text)

    assert sorted(each.text.removeprefix("resources.api.props.") for each in refused.value.problems) == [
        "environmentVariables.EMPTY: must be a text",
        "environmentVariables.HERE: the environment variable HERE is not set: export HERE=... sets it",
        "environmentVariables.STAGE: the environment variable STAGE is not set: export STAGE=... sets it",
        "environmentVariables.STAGE: the environment variable TIER is not set: export TIER=... sets it",
        "functionName: the environment variable NAME is not set: export NAME=... sets it",
    ]


def test_edition_three_is_resolved_in_the_order_of_its_references(resources):
    """Variables, outputs of other resources and defaults of the environment are filled in; other texts stay."""
    found = resources(EDITION_3, {"STAGE": "live"})

    function = found["fc3.function", "orders-api"]
    assert function.properties["environmentVariables"] == {"STAGE": "live", "HERE": "orders-api", "RAW": "${HOME}"}
    assert "acs:fc:cn-hangzhou:123456:functions/orders-api" in found["fnf.flow", "orders-flow"].properties["Definition"]
    assert found["fnf.schedule", "orders-flow/nightly"].properties["Payload"] == ""
    assert found["fc3.provision", "orders-api/live"].properties["target"] == 2
    assert found["mns.subscription", "news/s"].properties["Endpoint"] == "acs:mns:cn-hangzhou:123456:queues/jobs"
    kinds = [kind for kind, _ in found]
    assert kinds.index("fc3.function") < kinds.index("fnf.flow")


def test_a_log_that_is_left_to_the_component_has_its_names(resources):
    """``auto`` names the account's project, as the component writes it into the function."""
    text = EDITION_3.replace(
        "      functionName: ${vars.prefix}-api\n", "      functionName: ${vars.prefix}-api\n      logConfig: auto\n", 1
    )

    log = resources(text, {"STAGE": "live"})["fc3.function", "orders-api"].properties["logConfig"]

    assert log["logstore"] == "default-logs"
    assert log["project"].startswith("serverless-cn-hangzhou-")


def test_a_log_that_a_service_leaves_to_its_component_has_its_names(resources):
    """Edition 1.0.0: the account's project and the service's store."""
    text = EDITION_1.replace("{name: shop, nasConfig", "{name: shop, logConfig: auto, nasConfig", 1)
    assert text != EDITION_1

    log = resources(text)["fc.service", "shop"].properties["logConfig"]

    assert (log["project"], log["logstore"]) == ("123456-cn-hangzhou-logproject", "fc-service-shop-logstore")


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


@pytest.mark.parametrize(("edition", "noted"), [("3.0.0", False), ("'3'", False), ("9.9.9", True)])
def test_unknown_edition_is_noted(blueprint, edition, noted):
    """The file is read all the same, by its form."""
    _, notes = blueprint(EDITION_3.replace("edition: 3.0.0", f"edition: {edition}"))

    assert any("there is no such edition" in note.text for note in notes) is noted


@pytest.mark.parametrize(
    ("member", "unset", "asked"),
    [
        ("logConfig", "{project: '', logstore: '', enableRequestMetrics: false, enableInstanceMetrics: false, "
         "logBeginRule: None}", "{project: logs, logstore: shop}"),
        ("vpcConfig", "{vpcId: '', vSwitchIds: [], securityGroupId: ''}", "{vpcId: vpc-1}"),
        ("nasConfig", "{userId: -1, groupId: -1, mountPoints: []}", "{userId: 100}"),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_not_noted(blueprint, member, unset, asked):
    """Exports write what the service returns where nothing was set; only what was set has no effect."""

    def noted(value):
        _, notes = blueprint(EDITION_1.replace("service: {name: shop}", f"service: {{name: shop, {member}: {value}}}"))
        return [note.text.partition(": ")[0] for note in notes if member in note.text and "two" in note.text]

    assert noted(unset) == []
    assert noted(asked) == [f"services.two.props.service.{member}"]


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("component: fnf", "component: fnff", 7, "did you mean fnf?"),
        ("handler: index", "handlr: index", 21, "did you mean handler?"),
        ("${vars.prefix}-api", "${vars.suffix}-api", 19, "leads nowhere"),
        ("${vars.prefix}-api", "${resources.jobs.props.queues.0000009.queueName}-api", 19, "leads nowhere"),
        ("${env('STAGE', 'test')}", "${env('STAGE')}", 23, "STAGE is not set"),
        ("${resources.api.output", "${resources.apu.output", 10, "there is no resource apu"),
        ("./code", "./gone", 22, "there is no ./gone"),
        ("triggerType: http", "triggerType: htp", 25, "did you mean http?"),
        ("triggerType: http", "triggerType: mns_queue", 25, "here the type is eventbridge"),
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


def test_a_file_extends_another(resources, tmp_path):
    """Maps are merged, lists and texts replaced; the other file may extend a third."""
    (tmp_path / "base.yaml").write_text("extend: root.yaml\nvars: {prefix: base}\n")
    (tmp_path / "root.yaml").write_text(EDITION_3)

    found = resources("extend: base.yaml\nresources:\n  api:\n    props: {memorySize: 1024, triggers: []}\n")

    function = found["fc3.function", "base-api"]
    assert (function.properties["memorySize"], function.properties["handler"]) == (1024, "index.handler")
    assert ("fc3.trigger", "base-api/http") not in found


def test_file_that_extends_one_that_is_not_there_is_a_problem(blueprint):
    """It is told where it is named."""
    with pytest.raises(FileProblems) as caught:
        blueprint("edition: 3.0.0\nname: a\nextend: gone.yaml\nresources: {}\n")

    assert (caught.value.problems[0].line, caught.value.problems[0].text) == (
        3, "extend: there is no gone.yaml beside the file",
    )  # fmt: skip


TEMPLATES = """\
edition: 3.0.0
name: shop
.common: &common {runtime: python3.10, handler: index.handler, code: ./code}
template:
  small: {<<: *common, memorySize: 128, timeout: 5}
resources:
  one: {component: fc3, extend: {name: small, ignore: [timeout]}, props: {functionName: one}}
  two: {component: fc3, extend: {name: small}, props: {functionName: two, memorySize: 256}}
  three: {component: fc3, props: {<<: *common, functionName: "${resources.two.props.functionName}-3"}}
"""


def test_resources_extend_templates_and_use_aliases(resources):
    """A template's properties stand behind the resource's own, without the ignored ones."""
    found = resources(TEMPLATES)

    settings = {name: (each.properties["memorySize"], each.properties["timeout"]) for (_, name), each in found.items()}
    assert settings == {"one": (128, 3), "two": (256, 5), "two-3": (512, 3)}


def test_template_that_does_not_exist_is_a_problem(blueprint):
    """With the name that is near."""
    with pytest.raises(FileProblems, match="there is no template smal; did you mean small"):
        blueprint(TEMPLATES.replace("{name: small}", "{name: smal}"))


def test_variables_read_files(resources, tmp_path):
    """As text, and as path."""
    (tmp_path / "about.txt").write_text("from a file")
    text = TEMPLATES.replace(
        "memorySize: 256", "description: \"${file('./about.txt')}\", environmentVariables: "
        "{HERE: \"${path('./code')}\"}",
    )  # fmt: skip

    properties = resources(text)["fc3.function", "two"].properties

    assert properties["description"] == "from a file"
    assert properties["environmentVariables"]["HERE"] == str(tmp_path / "code")


def test_json_becomes_values(resources, tmp_path):
    """A whole map comes out of a file."""
    (tmp_path / "variables.json").write_text('{"A": "1", "B": "2"}')
    text = TEMPLATES.replace("memorySize: 256", "environmentVariables: \"${json(file('./variables.json'))}\"")

    assert resources(text)["fc3.function", "two"].properties["environmentVariables"] == {"A": "1", "B": "2"}


ACTIONS = """\
edition: 3.0.0
name: shop
vars: {target: dist}
actions:
  pre-deploy: [{run: npm install}]
  post-deploy: [{run: echo done}]
resources:
  api:
    component: fc3
    actions:
      pre-${regex('deploy|local')}:
        - {run: 'make ${vars.target}', path: ./code}
        - {component: fc3 build}
      pre-invoke: [{run: never}]
    props: {functionName: api, runtime: python3.10, handler: index.handler, code: ./code}
"""


def test_commands_before_a_deployment_are_found(tmp_path):
    """Those of the project first; variables are replaced, other occasions left out."""
    commands = actions(whole(ACTIONS, Findings()), WORLD, tmp_path, {})

    assert [str(each) for each in commands] == ["npm install", "make dist (in ./code)"]
    assert [each.mark.line for each in commands] == [5, 12]


def test_commands_that_are_not_run_are_noted(blueprint):
    """With the option that runs them; what cannot be run at all is noted too."""
    _, notes = blueprint(ACTIONS)

    assert {(note.line, note.text) for note in notes} == {
        (5, "not run: npm install; localyun deploy --run-actions runs it"),
        (12, "not run: make dist (in ./code); localyun deploy --run-actions runs it"),
        (6, "actions.post-deploy: only commands before a deployment can be run here"),
        (11, "resources.api.actions.pre-${regex('deploy|local')}: only commands before a deployment can be run here"),
        (14, "resources.api.actions.pre-invoke: only commands before a deployment can be run here"),
    }


def test_commands_that_run_with_the_deployment_are_noted_in_its_plan(tmp_path):
    """A plan runs nothing."""
    (tmp_path / "code").mkdir()
    findings = Findings()

    read(whole(ACTIONS, findings), WORLD, tmp_path, {}, {}, actions_run="later")

    assert [(note.line, note.text) for note in findings.notes if note.text.startswith("not run")] == [
        (5, "not run, as this is a plan: npm install; the deployment runs it first"),
        (12, "not run, as this is a plan: make dist (in ./code); the deployment runs it first"),
    ]


def test_missing_code_names_the_commands_that_build_it(blueprint):
    """The problem says how to go on."""
    with pytest.raises(FileProblems) as caught:
        blueprint(ACTIONS.replace("code: ./code}", "code: ./code/dist}"))

    assert caught.value.problems[0].text.endswith(
        "there is no ./code/dist beside the file; the file builds it with: npm install; make dist "
        "(localyun deploy --run-actions runs that)"
    )


def test_places_of_tokens_are_written_as_maps(resources):
    """The component joins what the API takes as one text.

    Source: devsapp/fc3 src/interface/trigger.ts, convertIHttpTriggerConfig.
    """
    rules = """\
{jwks: {keys: [{kty: RSA}]}, tokenLookup: [{readPosition: header, parameterName: Auth, prefix: 'Bearer '},
          {readPosition: cookie, parameterName: t}, 'query:q'],
          claimPassBy: [{mappingParameterPosition: query, mappingParameterName: x}]}"""
    text = EDITION_3.replace("{authType: anonymous,", f"{{authType: jwt, authConfig: {rules},")

    config = resources(text)["fc3.trigger", "orders-api/http"].properties["triggerConfig"]["authConfig"]

    assert config["tokenLookup"] == "header:Auth:Bearer ,cookie:t,query:q"
    assert config["claimPassBy"] == "query::x"


@pytest.mark.parametrize(("edition", "section"), [("1.0.0", "services"), ("3.0.0", "resources")])
def test_file_without_resources_names_the_section_of_its_edition(blueprint, edition, section):
    """That is where they are to be written."""
    with pytest.raises(FileProblems) as caught:
        blueprint(f"edition: {edition}\nname: shop\n")

    assert [problem.text for problem in caught.value.problems] == [f"{section}: there are no resources"]
