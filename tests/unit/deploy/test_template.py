"""Templates -> resources."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.deploy.files import Files
from emulator.deploy.model import FileProblems, Target, has_token
from emulator.deploy.places import Findings, whole
from emulator.deploy.template import read_template
from tests.unit.deploy.anything import refusals_of, replaced, values_of

ROS = (Path(__file__).parent / "ros.yml").read_text(encoding="utf-8")
FUNCRAFT = """\
ROSTemplateFormatVersion: '2015-09-01'
Transform: 'Aliyun::Serverless-2018-04-03'
Resources:
  shop:
    Type: Aliyun::Serverless::Service
    Properties: {Description: a shop}
    hello:
      Type: Aliyun::Serverless::Function
      Properties:
        Handler: index.handler
        Runtime: python3.10
        CodeUri: code
        CAPort: 9001
        EnvironmentVariables: {SIZE: 3}
        AsyncConfiguration: {MaxAsyncRetryAttempts: 1, Destination: {OnFailure: acs:mns:::/queues/q}}
      Events:
        http: {Type: HTTP, Properties: {AuthType: ANONYMOUS, Methods: [GET]}}
        tick: {Type: Timer, Properties: {CronExpression: '@every 1h', Enable: false, Payload: x}}
        news: {Type: MNSTopic, Properties: {TopicName: news, NotifyContentFormat: JSON}}
        put: {Type: OSS, Properties: {BucketName: b, Events: ['oss:ObjectCreated:*'], Filter: {Key: {Prefix: a/}}}}
  flow:
    Type: Aliyun::Serverless::Flow
    Properties: {DefinitionUri: flow.yml, Description: d, Policies: [AliyunFCInvocationAccess]}
    Events:
      nightly: {Type: Schedule, Properties: {CronExpression: '0 0 3 * * *', Payload: {a: 1}}}
  shop.example.com:
    Type: Aliyun::Serverless::CustomDomain
    Properties: {Protocol: HTTP, RouteConfig: {Routes: {'/a': {ServiceName: shop, FunctionName: hello}}}}
  news:
    Type: Aliyun::Serverless::MNSTopic
    Properties: {MaximumMessageSize: 1024}
"""


def problems_of(blueprint, text, **parameters):
    with pytest.raises(FileProblems) as caught:
        blueprint(text, **parameters)
    return [(problem.line, problem.text) for problem in caught.value.problems]


def value_of(blueprint, expression, sections=""):
    """Evaluate one expression as an output."""
    text = (
        f"{sections}\nResources:\n  t: {{Type: 'ALIYUN::MNS::Topic', Properties: {{TopicName: news}}}}\n"
        f"Outputs:\n  v: {{Value: {expression}}}\n"
    )
    return blueprint(text)[0].outputs["v"]


def test_service_becomes_its_functions_and_their_triggers(resources):
    """The body of each call has the API's names, and the code is packed."""
    found = resources(FUNCRAFT)

    function = found["fc.function", "shop/hello"]
    assert function.properties["caPort"] == 9001
    assert function.properties["environmentVariables"] == {"SIZE": "3"}
    assert function.properties["timeout"] == 3
    assert function.package is not None
    assert found["fc.trigger", "shop/hello/http"].properties["triggerConfig"] == {
        "authType": "anonymous",
        "methods": ["GET"],
    }
    assert found["fc.trigger", "shop/hello/news"].properties["sourceArn"] == "acs:mns:cn-hangzhou:123456:/topics/news"
    assert found["fc.trigger", "shop/hello/put"].properties["triggerConfig"]["filter"] == {"key": {"prefix": "a/"}}
    assert found["fc.async", "shop/hello/LATEST"].properties["destinationConfig"]["onFailure"]["destination"]
    assert found["fc.domain", "shop.example.com"].properties["routeConfig"]["routes"][0]["path"] == "/a"
    assert found["mns.topic", "news"].properties["MaxMessageSize"] == 1024


def test_a_topic_is_made_before_the_triggers_that_name_it(resources):
    """A trigger is refused while its topic does not exist, and the topic may stand at the end of the file."""
    found = list(resources(FUNCRAFT))

    assert found.index(("mns.topic", "news")) < found.index(("fc.trigger", "shop/hello/news"))


def test_a_topic_of_an_event_may_have_the_name_of_another_resource(resources):
    """A topic that is there already has nothing to do with a flow of that name, which waits for the service."""
    flow = "    Type: Aliyun::Serverless::Flow\n"
    text = FUNCRAFT.replace("TopicName: news", "TopicName: flow").replace(flow, flow + "    DependsOn: shop\n")

    found = resources(text)

    assert found["fc.trigger", "shop/hello/news"].properties["sourceArn"].endswith("/topics/flow")


def test_flow_comes_from_its_file_with_a_role_and_schedules(resources):
    """The account's id is filled in, policies make a role, events become schedules."""
    found = resources(FUNCRAFT)

    flow = found["fnf.flow", "flow"].properties
    assert "# 123456" in flow["Definition"]
    assert flow["RoleArn"] == "acs:ram::123456:role/app-flow-role"
    assert ("ram.attachment", "System/AliyunFCInvocationAccess/app-flow-role") in found
    assert found["fnf.schedule", "flow/nightly"].properties["Payload"] == '{"a": 1}'


def test_roles_of_parts_that_differ_in_case_are_two(resources):
    """The cloud takes the names for the same, so one of them says more."""
    flow = "{Type: Aliyun::Serverless::Flow, Properties: {DefinitionUri: flow.yml, Policies: [AliyunOSSFullAccess]}}"
    text = f"ROSTemplateFormatVersion: '2015-09-01'\nResources:\n  Sync: {flow}\n  sync: {flow}\n  SYNC: {flow}\n"

    names = [name for kind, name in resources(text) if kind == "ram.role"]

    assert names[0] == "app-sync-role"
    assert len({name.lower() for name in names}) == 3


@pytest.mark.parametrize("where", ["template", "file"])
def test_references_in_a_definition_give_resource_names(resources, tmp_path, where):
    """A flow names functions of its template, written after it, as the tasks want them; other text stays as it is."""
    definition = {
        "version": "v1",
        "type": "flow",
        "steps": [
            {"type": "task", "name": "a", "resourceArn": {"Ref": "shop/hello"}},
            {
                "type": "pass",
                "name": "b",
                "outputMappings": [{"target": "t", "source": {"Fn::GetAtt": "news.TopicName"}}],
            },
        ],
    }
    if where == "file":
        (tmp_path / "refers.yml").write_text(
            "version: v1\ntype: flow\nsteps:\n  - {type: task, name: a, resourceArn: !Ref shop/hello}\n"
            "  - type: pass\n    name: b\n"
            "    outputMappings: [{target: t, source: !GetAtt news.TopicName}]\n"
        )
        text = FUNCRAFT.replace("flow.yml", "refers.yml")
    else:
        text = FUNCRAFT.replace("DefinitionUri: flow.yml", f"Definition: {json.dumps(definition)}")
    head, service, rest = text.partition("  shop:\n")
    body, flow, tail = rest.partition("  flow:\n")
    flow_first = head + flow + tail + service + body

    found = resources(flow_first)

    steps = json.loads(found["fnf.flow", "flow"].properties["Definition"])["steps"]
    assert steps[0]["resourceArn"] == "acs:fc:cn-hangzhou:123456:services/shop/functions/hello"
    assert steps[1]["outputMappings"][0]["source"] == "news"
    assert found["fc.trigger", "shop/hello/http"]


def test_what_is_wrong_in_a_definition_file_is_told_with_its_own_line(blueprint, tmp_path):
    """The line of the template leads to the file, the line after its name into it."""
    (tmp_path / "refers.yml").write_text("version: v1\ntype: flow\nsteps:\n  - {resourceArn: !Ref shop/helo}\n")

    told = problems_of(blueprint, FUNCRAFT.replace("flow.yml", "refers.yml"))

    assert len(told) == 1
    assert "refers.yml:4:19: steps.0.resourceArn.Ref: there is no parameter or resource shop/helo" in told[0][1]
    assert "did you mean shop/hello" in told[0][1]


def test_same_code_gives_the_same_package(blueprint):
    """What a folder is packed to does not depend on when it happens."""
    first, second = (next(each.package for each in blueprint(FUNCRAFT)[0].resources if each.package) for _ in range(2))

    assert first == second


def test_everything_that_is_not_known_is_told_at_once_with_its_line(blueprint):
    """A wrong type, two wrong properties and a missing folder are four problems."""
    text = (
        FUNCRAFT.replace("CAPort: 9001", "CAPrt: 9001")
        .replace("CodeUri: code", "CodeUri: gone")
        .replace("Aliyun::Serverless::MNSTopic", "Aliyun::Serverless::MNSTopics")
        .replace("Filter: {Key: {Prefix: a/}}", "Filter: {Key: {Prefx: a/}}")
    )

    found = problems_of(blueprint, text)

    assert [line for line, _ in found] == [12, 13, 20, 30]
    assert "there is no gone" in found[0][1]
    assert "did you mean CAPort?" in found[1][1]
    assert "did you mean prefix?" in found[2][1]
    assert "did you mean Aliyun::Serverless::MNSTopic?" in found[3][1]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("Resources:\n  a: {Type: ALIYUN::ECS::Instance}", 2, "not known"),
        ("Resources:\n  a: {Type: 'ALIYUN::MNS::Topic'}", 2, "TopicName is missing"),
        ("Resources:\n  a:\n    Type: ALIYUN::MNS::Topic\n    Properties: {TopicName: [1]}", 4, "must be a text"),
        ("Resources:\n  a:\n    Type: ALIYUN::MNS::Topic\n    Properties: {TopicName: !Ref b}", 4, "no parameter"),
        ("Resources:\n  a:\n    Type: ALIYUN::MNS::Topic\n    Properties: {TopicName: !Bad b}", 4, "Fn::Bad is not"),
        (
            "Resource: {}\nResources: {a: {Type: 'ALIYUN::MNS::Topic', Properties: {TopicName: t}}}",
            1,
            "no such section",
        ),
        ("ROSTemplateFormatVersion: x", 1, "no resources"),
        ("Parameters:\n  p: {Type: String}\nResources: {a: {Type: 'ALIYUN::MNS::Topic'}}", 2, "--parameter p="),
        ("hello: 1", 1, "neither a template"),
        ("[1, 2]", 1, "must be a template"),
        ("Resources:\n  a: {Type: 'ALIYUN::MNS::Topic', DependsOn: b, Properties: {TopicName: t}}", 2, "no resource b"),
        (
            "Resources:\n  a:\n    Type: ALIYUN::RAM::Role\n    Properties:\n      PolicyAttachments: {System: [[]]}",
            5,
            "System.0: must be a text",
        ),
    ],
)
def test_problem_names_line_and_reason(blueprint, text, line, told):
    """One problem each."""
    assert any(found[0] == line and told in found[1] for found in problems_of(blueprint, text))


def test_a_problem_beside_policies_is_told_once(blueprint):
    """The policies of a service are read from properties that have been evaluated already."""
    properties = "{Description: !Ref nothing, Policies: [AliyunFCInvocationAccess]}"

    found = problems_of(blueprint, FUNCRAFT.replace("{Description: a shop}", properties))

    assert [text.partition(": ")[2] for _, text in found] == ["there is no parameter or resource nothing"]


def test_circle_of_references_is_told(blueprint):
    """Two resources that need each other cannot be made."""
    topic = "{Type: 'ALIYUN::MNS::Topic', Properties: {TopicName: !Ref %s}}"

    found = problems_of(blueprint, f"Resources:\n  a: {topic % 'b'}\n  b: {topic % 'a'}")

    assert any("a -> b -> a" in text for _, text in found)


def test_two_resources_of_one_name_are_told(blueprint):
    """The second one names the first."""
    topic = "{Type: 'ALIYUN::MNS::Topic', Properties: {TopicName: t}}"

    assert problems_of(blueprint, f"Resources:\n  a: {topic}\n  b: {topic}") == [
        (3, "Resources.b: t is described by a too")
    ]


def test_two_resources_without_their_names_are_not_one(blueprint):
    """Each lacks its name, and that is all there is to say."""
    topic = "{Type: 'ALIYUN::MNS::Topic', Properties: {}}"

    found = problems_of(blueprint, f"Resources:\n  a: {topic}\n  b: {topic}")

    assert [text for _, text in found] == [
        "Resources.a.Properties: TopicName is missing",
        "Resources.b.Properties: TopicName is missing",
    ]


def test_attribute_of_what_has_none_is_refused_without_a_list(blueprint):
    """A resource of an unknown type has no attributes to propose."""
    found = problems_of(blueprint, "Resources:\n  a: {Type: 'ALIYUN::MNS::Topi'}\nOutputs: {o: {Value: !GetAtt a.Foo}}")

    assert found[-1][1].endswith("a has no attribute Foo")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("!Ref t", "news"),
        ("!GetAtt t.TopicName", "news"),
        ("!GetAtt t.ARN.WithSlash", "acs:mns:cn-hangzhou:123456:/topics/news"),
        ("!Ref ALIYUN::AccountId", "123456"),
        ("!Sub '${ALIYUN::Region}/${t}/${t.TopicName}/${!t}'", "cn-hangzhou/news/news/${t}"),
        ("!Sub ['${x}-${t}', {x: !Ref ALIYUN::StackName}]", "app-news"),
        ("!Join [',', [a, 1, true]]", "a,1,true"),
        ("!Select [1, [a, b]]", "b"),
        ("!Select ['2', a, z]", "z"),
        ("!Select [k, {k: v}]", "v"),
        ("!Split ['-', a-b]", ["a", "b"]),
        ("!Base64Encode abc", "YWJj"),
        ("!Base64Decode YWJj", "abc"),
        ("!Replace [{a: b}, aha]", "bhb"),
        ("!Str 5", "5"),
        ("!Length [1, 2]", 2),
        ("!ListMerge [[1], [2]]", [1, 2]),
        ("!FindInMap [sizes, big, memory]", 512),
        ("!If [yes, 1, 2]", 1),
        ("!If [no, 1, 2]", 2),
        ("!If [both, 1, 2]", 2),
        ("!If [any, 1, 2]", 1),
        ("[1, !Ref ALIYUN::NoValue]", [1]),
    ],
)
def test_functions_have_the_values_the_service_gives_them(blueprint, expression, value):
    """Each function on its own."""
    sections = (
        "Mappings: {sizes: {big: {memory: 512}}}\n"
        "Conditions: {'yes': !Equals [a, a], 'no': !Not [{Condition: 'yes'}], both: !And ['yes', 'no'], "
        "any: !Or ['yes', 'no']}"
    ).replace("!If [yes", "!If ['yes'")

    assert value_of(blueprint, expression.replace("[yes,", "['yes',").replace("[no,", "['no',"), sections) == value


@pytest.mark.parametrize(
    "expression",
    ["!Select [9, [a]]", "!Join [a]", "!Split ['', a]", "!FindInMap [a, b, c]", "!Base64Decode '*'", "!GetAtt t.Nope",
     "!If [gone, 1, 2]", "!Sub '${gone}'", "!Replace [a, b]"],
)  # fmt: skip
def test_misused_function_is_a_problem(blueprint, expression):
    """Wrong arguments are told, with the line they stand in."""
    with pytest.raises(FileProblems) as caught:
        value_of(blueprint, expression)

    assert {problem.line for problem in caught.value.problems} == {5}


def test_parameters_are_typed_and_checked(blueprint, resources):
    """Given values win over defaults and must be among those allowed."""
    text = (
        "Parameters:\n  Name: {Type: String, AllowedValues: [one, two], Default: one}\n"
        "  Size: {Type: Number, Default: '7'}\n"
        "Resources:\n  q: {Type: 'ALIYUN::MNS::Queue', Properties: {QueueName: !Ref Name, DelaySeconds: !Ref Size}}\n"
    )

    assert resources(text, Name="two", Size="9")["mns.queue", "two"].properties["DelaySeconds"] == 9
    assert resources(text)["mns.queue", "one"].properties["DelaySeconds"] == 7
    assert "none of the allowed values" in problems_of(blueprint, text, Name="three")[0][1]
    assert "no parameter Nam; did you mean Name?" in problems_of(blueprint, text, Nam="three")[0][1]


def test_condition_leaves_a_resource_out(resources):
    """What a false condition belongs to is not there."""
    text = (
        "Conditions: {c: !Equals [a, b]}\nResources:\n"
        "  a: {Type: 'ALIYUN::MNS::Topic', Condition: c, Properties: {TopicName: a}}\n"
        "  b: {Type: 'ALIYUN::MNS::Topic', Properties: {TopicName: b}}\n"
    )

    assert list(resources(text)) == [("mns.topic", "b")]


def test_attribute_of_what_is_not_there_yet_stays_open(resources):
    """The number of a version is known when it has been published, and comes after what it belongs to."""
    text = (
        "Resources:\n"
        "  a: {Type: 'ALIYUN::FC::Alias', Properties: {ServiceName: s, AliasName: a, VersionId: !GetAtt v.VersionId}}\n"
        "  v: {Type: 'ALIYUN::FC::Version', Properties: {ServiceName: s}}\n"
    )

    found = resources(text)

    assert [kind for kind, _ in found] == ["fc.version", "fc.alias"]
    assert has_token(found["fc.alias", "s/a"].properties)


def test_what_has_no_effect_is_noted(blueprint):
    """A log project is accepted, and said to do nothing."""
    _, notes = blueprint(
        "Resources:\n  s:\n    Type: ALIYUN::FC::Service\n"
        "    Properties:\n      ServiceName: s\n      LogConfig: {Project: p, Logstore: l}\n"
    )

    assert [(note.line, "without effect" in note.text) for note in notes] == [(6, True)]


WORLD = Target(account="1", region="r", endpoint="http://e", name="n")
WORDS = st.sampled_from(
    ["Type", "Properties", "Resources", "Ref", "Fn::Sub", "Fn::Join", "Fn::If", "Fn::GetAtt", "Fn::Select", "a", "b",
     "Aliyun::Serverless::Service", "Aliyun::Serverless::Function", "ALIYUN::FC3::Function", "ALIYUN::FNF::Flow",
     "ALIYUN::RAM::Role", "Events", "${a}", "Conditions", "DependsOn", "Outputs", "Value", "Parameters", "Policies",
     "ALIYUN::FC::Trigger", "TriggerConfig", "TriggerType", "http", "oss", "LogConfig", "Default", "Count", "Mappings"]
)  # fmt: skip
VALUES = values_of(WORDS)


@given(resources=st.dictionaries(WORDS, VALUES, max_size=4), others=st.dictionaries(WORDS, VALUES, max_size=3))
def test_any_template_is_read_or_refused_with_lines(tmp_path_factory, resources, others):
    """Whatever stands where, nothing but FileProblems comes out."""
    refused = refusals_of({**others, "Resources": resources}, WORLD, tmp_path_factory.getbasetemp())

    assert all(problem.line >= 1 for problem in refused)


@given(st.data())
def test_template_with_something_else_somewhere_is_read_or_refused_with_lines(tmp_path_factory, data):
    """A sound template in which any one value, or two, are replaced by others."""
    changed = whole(data.draw(st.sampled_from([FUNCRAFT, ROS])), Findings()).value
    for _ in range(data.draw(st.integers(1, 2))):
        changed = replaced(changed, data, VALUES)

    refused = refusals_of(changed, WORLD, tmp_path_factory.getbasetemp())

    assert all(problem.line >= 1 for problem in refused)


def test_reading_a_template_costs_the_same_for_each_resource():
    """Steps of the interpreter's functions, for five times the resources: no more than five times as many."""

    def steps(number):
        queue = {"Type": "ALIYUN::MNS::Queue"}
        resources = {f"Q{n}": queue | {"Properties": {"QueueName": f"q{n}"}} for n in range(number)}
        root = whole(json.dumps({"ROSTemplateFormatVersion": "2015-09-01", "Resources": resources}), Findings())
        count = 0

        def count_one(*_):
            nonlocal count
            count += 1

        sys.setprofile(count_one)
        try:
            read_template(root, WORLD, Files(Path()), {})
        finally:
            sys.setprofile(None)
        return count

    few, many = steps(40), steps(200)

    assert many <= 5.1 * few
