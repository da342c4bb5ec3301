"""What published templates do beyond the simple forms; names and places are made up."""

import json
import re

import pytest

from emulator.cli.commands.deploy import stack_of
from emulator.deploy.model import FileProblems, Refused, Resource, Target, filled, member_of, token
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import read, with_attributes

SERVICE = """\
ROSTemplateFormatVersion: '2015-09-01'
Transform: 'Aliyun::Serverless-2018-04-03'
Resources:
  shop:
    Type: Aliyun::Serverless::Service
    order:
      Type: Aliyun::Serverless::Function
      Properties: {Handler: index.handler, Runtime: python3.10, CodeUri: code}
"""


def problems_of(blueprint, text, **parameters):
    with pytest.raises(FileProblems) as caught:
        blueprint(text, **parameters)
    return [f"{problem.line}:{problem.column}: {problem.text}" for problem in caught.value.problems]


def notes_of(blueprint, text):
    return [note.text for note in blueprint(text)[1]]


def test_scalars_of_policy_documents_become_texts(resources):
    """Version: 1 is what most templates say, and a condition may hold a boolean."""
    statement = "{Effect: Allow, Action: 'fc:*', Resource: '*', Condition: {Bool: {'acs:SecureTransport': true}}}"
    role = resources(
        "Resources:\n  r:\n    Type: ALIYUN::RAM::Role\n    Properties:\n      RoleName: r\n"
        "      AssumeRolePolicyDocument: {Version: 1, Statement: [{Action: 'sts:AssumeRole', Effect: Allow}]}\n"
        f"      Policies: [{{PolicyName: p, PolicyDocument: {{Version: 1, Statement: [{statement}]}}}}]\n"
    )

    trust = json.loads(role["ram.role", "r"].properties["AssumeRolePolicyDocument"])
    policy = json.loads(role["ram.policy", "p"].properties["PolicyDocument"])
    assert (trust["Version"], policy["Version"]) == ("1", "1")
    assert policy["Statement"][0]["Condition"] == {"Bool": {"acs:SecureTransport": "true"}}


def test_switches_and_names_are_read_from_other_scalars(resources):
    """ROS converts where the type is declared."""
    found = resources(
        "Resources:\n  q: {Type: 'ALIYUN::MNS::Queue', Properties: {QueueName: 7, LoggingEnabled: 'True'}}\n"
        "  s: {Type: 'ALIYUN::FC::Service', Properties: {ServiceName: s, InternetAccess: 1, Description: false}}\n"
    )

    assert found["mns.queue", "7"].properties["EnableLogging"] is True
    assert found["fc.service", "s"].properties["internetAccess"] is True
    assert found["fc.service", "s"].properties["description"] == "false"


def test_function_name_is_honoured(resources):
    """The key stays the name by which the template refers to the function."""
    text = (
        SERVICE.replace("{Handler", "{FunctionName: renamed, Handler")
        + "Outputs: {a: {Value: !GetAtt shoporder.Arn}}\n"
    )

    assert ("fc.function", "shop/renamed") in resources(text)


@pytest.mark.parametrize("name", ["shoporder", "order", "shop"])
def test_a_flow_depends_on_a_function_by_any_of_its_names(blueprint, name):
    """Alone, with its service in front, or through the service; the function is made first."""
    flow = f"  f: {{Type: 'Aliyun::Serverless::Flow', DependsOn: [{name}], Properties: {{DefinitionUri: flow.yml}}}}\n"
    head, rest = SERVICE.split("  shop:\n")

    made, notes = blueprint(f"{head}{flow}  shop:\n{rest}")

    assert [each.kind for each in made.resources] == ["fc.service", "fc.function", "fnf.flow"]
    assert notes == []


def test_a_flow_may_depend_on_what_does_not_exist(blueprint):
    """The cloud deploys it; any other resource has to depend on one that exists."""
    flow = "  f: {Type: 'Aliyun::Serverless::Flow', DependsOn: gone, Properties: {DefinitionUri: flow.yml}}\n"
    topic = "  t: {Type: 'ALIYUN::MNS::Topic', DependsOn: gone, Properties: {TopicName: t}}\n"

    assert notes_of(blueprint, SERVICE + flow) == ["Resources.f.DependsOn: there is no resource gone"]
    assert problems_of(blueprint, SERVICE + topic) == ["9:35: Resources.t.DependsOn: there is no resource gone"]


@pytest.mark.parametrize("reference", ["${shoporder.ARN}", "${shoporder.Arn}"])
def test_expanded_name_of_a_function_has_attributes(resources, reference):
    """Service and function in one word, as the transform of templates names them."""
    definition = f"'version: v1, resourceArn: {reference}'"
    flow = f"  f: {{Type: 'Aliyun::Serverless::Flow', Properties: {{Definition: {{'Fn::Sub': {definition}}}}}}}\n"

    text = resources(SERVICE + flow)["fnf.flow", "f"].properties["Definition"]

    assert text.endswith("acs:fc:cn-hangzhou:123456:services/shop/functions/order")


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("{Type: OSS, Properties: {BucketName: {PLEASE_CHANGE}, Events: [a]}}", "BucketName: must be a text"),
        ("{Type: MNSTopic, Properties: {TopicName: {PLEASE_CHANGE}}}", "TopicName: must be a text"),
        ("{Type: MNSTopic, Properties: {}}", "TopicName is missing"),
        ("{Type: OSS, Properties: {Events: [a]}}", "BucketName is missing"),
    ],
)
def test_a_mapping_where_a_name_belongs_is_refused_before_anything_is_made(blueprint, event, told):
    """{X} in a template is a map, not a placeholder."""
    assert any(told in problem for problem in problems_of(blueprint, SERVICE + f"      Events: {{e: {event}}}\n"))


def test_event_of_a_database_names_its_instance(resources):
    """The source of the trigger is the instance."""
    event = "{Type: RDS, Properties: {InstanceId: rm-1, SubscriptionObjects: [db.t], Retry: 2, Concurrency: 1}}"

    trigger = resources(SERVICE + f"      Events: {{e: {event}}}\n")["fc.trigger", "shop/order/e"]

    assert trigger.properties["sourceArn"] == "acs:rds:cn-hangzhou:123456:dbinstance/rm-1"
    assert trigger.properties["triggerConfig"] == {"subscriptionObjects": ["db.t"], "retry": 2, "concurrency": 1}


def test_event_of_a_log_names_the_project_of_its_log(resources):
    """As Funcraft does: the project of LogConfig is also where the entries come from."""
    event = "{Type: Log, Properties: {SourceConfig: {Logstore: in}, LogConfig: {Project: news, Logstore: out}}}"

    trigger = resources(SERVICE + f"      Events: {{e: {event}}}\n")["fc.trigger", "shop/order/e"]

    assert trigger.properties["sourceArn"] == "acs:log:cn-hangzhou:123456:project/news"
    assert trigger.properties["triggerConfig"]["logConfig"] == {"project": "news", "logstore": "out"}


def test_domain_that_the_cloud_makes_up_is_noted(blueprint):
    """The functions can still be called at their triggers' addresses."""
    domain = (
        "  d: {Type: 'Aliyun::Serverless::CustomDomain', Properties: {DomainName: Auto, Protocol: HTTP,"
        " RouteConfig: {Routes: {/: {ServiceName: shop, FunctionName: order}}}}}\n"
    )

    made, notes = blueprint(SERVICE + domain)

    assert {each.kind for each in made.resources} == {"fc.service", "fc.function"}
    assert len(notes) == 1
    assert notes[0].text.startswith("Resources.d.Properties.DomainName: no domain is made up here")


def test_system_policies_of_other_services_have_no_effect(blueprint):
    """Any can be named; one that does not exist is a mistake."""
    policies = "    Properties: {Policies: [AliyunFCFullAccess, AliyunVIAPIFullAccess]}\n"
    text = SERVICE.replace("    order:\n", policies + "    order:\n")

    assert notes_of(blueprint, text) == [
        "Resources.shop: the policy AliyunVIAPIFullAccess is of a service that is not here; it has no effect"
    ]
    wrong = problems_of(blueprint, text.replace("AliyunVIAPIFullAccess", "AliyunFCFulAccess2"))
    assert "there is no system policy AliyunFCFulAccess2; did you mean AliyunFCFullAccess?" in wrong[0]


def test_bucket_has_attributes(blueprint):
    """Settings that buckets do not have here are noted."""
    made, notes = blueprint(
        "Resources:\n"
        "  b: {Type: 'ALIYUN::OSS::Bucket', Properties: {BucketName: my-files, AccessControl: private, Tags: {a: b}}}\n"
        "Outputs:\n  name: {Value: !GetAtt b.Name}\n  ref: {Value: !Ref b}\n"
        "  host: {Value: !GetAtt b.DomainName}\n  inner: {Value: !GetAtt b.InternalDomainName}\n"
    )

    assert made.outputs == {
        "name": "my-files",
        "ref": "my-files",
        "host": "my-files.oss-cn-hangzhou.aliyuncs.com",
        "inner": "my-files.oss-cn-hangzhou-internal.aliyuncs.com",
    }
    assert len(notes) == 1


def test_member_of_an_answer_that_is_not_known_yet_is_read_when_it_is():
    """Fn::GetJsonValue of what a function will answer."""
    place = member_of(token("call", "Result"), "name")

    assert filled(f"acs:oss:{place}", lambda *_: '{"name": "b"}') == "acs:oss:b"
    assert filled(place, lambda *_: None) == place
    assert member_of("text", "name") is None


def test_an_answer_without_the_member_is_an_error_of_the_step():
    """Nothing else is made then."""
    place = member_of(token("call", "Result"), "other")
    resource = Resource(logical="r", type="t", kind="k", identity=("i",), properties={"p": place}, line=1)

    with pytest.raises(Refused, match="there is no 'other'"):
        with_attributes(resource, {"call": {"Result": '{"name": "b"}'}})


def test_json_of_an_attribute_is_deferred(resources):
    """The bucket's name is in what the invoker's function answers."""
    call = "{ServiceName: shop, FunctionName: order}"
    invoker = f"  call: {{Type: 'ALIYUN::FC::FunctionInvoker', Properties: {call}}}\n"
    name = "{'Fn::GetJsonValue': [name, {'Fn::GetAtt': [call, Result]}]}"
    event = f"{{Type: OSS, Properties: {{BucketName: {name}, Events: [a]}}}}"
    other = SERVICE.split("Resources:\n")[1].replace("shop", "other") + f"      Events: {{e: {event}}}\n"

    trigger = resources(SERVICE + invoker + other)["fc.trigger", "other/order/e"]

    assert filled(trigger.properties["sourceArn"], lambda *_: '{"name": "b"}') == "acs:oss:cn-hangzhou:123456:b"


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (None, ""),
        ("pom.xml", "; pom.xml builds it: mvn package"),
        ("Makefile", "; Makefile builds it: make"),
        ("lib/go.mod", "; go.mod in lib builds it: go build"),
    ],
)
def test_missing_code_names_what_builds_it(blueprint, tmp_path, file, told):
    """The nearest file that a build tool reads."""
    if file:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    text = SERVICE.replace("CodeUri: code", "CodeUri: ./lib/target/code.jar")

    (problem,) = problems_of(blueprint, text)

    assert problem.endswith(f"there is no ./lib/target/code.jar beside the file{told}")


def test_parameter_without_a_value_is_the_only_problem(blueprint):
    """What refers to it is not to blame, wherever its value would have to be looked at."""
    text = (
        "ROSTemplateFormatVersion: '2015-09-01'\n"
        "Parameters: {Topic: {Type: String}, Size: {Type: Number}}\n"
        "Resources:\n"
        "  t: {Type: 'ALIYUN::MNS::Topic', Properties: {TopicName: {Ref: Topic}, MaximumMessageSize: {Ref: Size}}}\n"
        "  q: {Type: 'ALIYUN::MNS::Queue', Properties: {QueueName: {'Fn::Join': ['-', [q, {Ref: Topic}]]}}}\n"
    )

    assert problems_of(blueprint, text) == [
        "2:14: Parameters.Topic: needs a value: --parameter Topic=...",
        "2:37: Parameters.Size: needs a value: --parameter Size=...",
    ]


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("ETL-Data_Processing", "etl-data-processing-[0-9a-f]{8}"),
        ("shop-template.packaged", "shop-template-packaged-[0-9a-f]{8}"),
        ("shop", "shop"),
        ("__", "root-[0-9a-f]{8}"),
    ],
)
def test_stack_that_nobody_named_can_be_a_part_of_any_name(name, stack):
    """Templates make names of buckets and policies of it; two deployments never make the same."""
    assert re.fullmatch(stack, stack_of(name))


def test_stack_name_is_the_target_s(tmp_path):
    """It need not be the name of the deployment."""
    text = (
        "ROSTemplateFormatVersion: '2015-09-01'\nResources:\n"
        "  q: {Type: 'ALIYUN::MNS::Queue', Properties: {QueueName: {Ref: 'ALIYUN::StackName'}}}\n"
    )
    target = Target(account="1", region="r", endpoint="http://e", name="The.Deployment", stack="the-deployment")

    found = read(whole(text, Findings()), target, tmp_path, {}, {})

    assert [each.physical for each in found.resources] == ["the-deployment"]
