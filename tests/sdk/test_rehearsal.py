"""What a plan accepts, a deployment does: files that a service refuses are refused by the plan, with their line."""

from pathlib import Path

import pytest

from emulator.cli.rehearsal import Stage
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import FileProblems, Record, Refused, StepFailed, Target
from emulator.deploy.places import Findings, whole
from emulator.deploy.planner import apply, plan, read
from emulator.deploy.rehearsal import rehearse
from emulator.keyfile import InstallationKeys

pytestmark = pytest.mark.sdk

KEYS = InstallationKeys(access_key_id="LYUNrehearsal", access_key_secret="s" * 40, account_id="1234567890123456",
                        region="cn-hangzhou", admin_token="")  # fmt: skip


@pytest.fixture(scope="module")
def both():
    """The emulator that is deployed to and the one of rehearsals; neither acts."""
    with Stage(KEYS) as real, Stage(KEYS) as stage:
        yield real, stage


class Deployments:
    """Files read, rehearsed and deployed; ``record`` is that of the last deployment."""

    def __init__(self, real, stage, folder):
        self.real, self.stage, self.folder = real, stage, folder
        self.record = Record(name="app")

    def _read(self, text):
        target = Target(
            account=KEYS.account_id, region=KEYS.region, endpoint=self.real.client.endpoint.http, name="app"
        )
        return read(whole(text, Findings()), target, self.folder, {}, {})

    def plan(self, text):
        """Return the lines of what the plan refuses."""
        self.stage.clear()
        try:
            blueprint = self._read(text)
            plan(self.real.api, PROVIDERS, blueprint, self.record)
            rehearse(self.real.api, self.stage.api, blueprint, self.record)
        except FileProblems as error:
            return {each.line for each in error.problems}
        except (Refused, StepFailed):
            return {0}
        return set()

    def deploy(self, text):
        """Return whether it was deployed."""
        try:
            blueprint = self._read(text)
            steps = plan(self.real.api, PROVIDERS, blueprint, self.record)
            entries = apply(self.real.api, PROVIDERS, steps, lambda step: None)
        except (FileProblems, StepFailed):
            return False
        self.record = Record(name="app", entries=entries)
        return True


@pytest.fixture
def deployments(both, tmp_path):
    """Two empty emulators and a folder with code."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text("def handler(event, context):\n    return event\n")
    for each in both:
        each.clear()
    return Deployments(*both, tmp_path)


def a_template(kind, **properties):
    """A template with one resource, whose type stands in the fourth line."""
    values = "".join(f"      {name}: {value}\n" for name, value in properties.items())
    return f"ROSTemplateFormatVersion: '2015-09-01'\nResources:\n  it:\n    Type: {kind}\n    Properties:\n{values}"


CODE = "{SourceCode: 'def handler(e, c): return e'}"


def a_function(**properties):
    usual = {"FunctionName": "f", "Runtime": "python3.10", "Handler": "index.handler", "Code": CODE}
    return a_template("ALIYUN::FC3::Function", **{**usual, **properties})


def with_function(kind, **properties):
    """A template with a function, and something for it."""
    return a_function() + "".join(a_template(kind, **properties).partition("Resources:\n")[2:]).replace("it:", "of:")


TRUST = (
    "{Version: '1', Statement: [{Effect: Allow, Action: 'sts:AssumeRole', Principal: {Service: [fc.aliyuncs.com]}}]}"
)
JWT = "authType: jwt, methods: [GET], authConfig: "

REFUSED = {
    "memory not a multiple of 64": a_function(MemorySize=200),
    "memory out of range": a_function(MemorySize=64000),
    "time limit out of range": a_function(Timeout=-5),
    "unknown runtime": a_function(Runtime="cobol85"),
    "code of a bucket that is not there": a_function(Code="{OssBucketName: nowhere, OssObjectName: code.zip}"),
    "layer that cannot be": a_function(Layers="['acs:fc:cn-hangzhou:layers']"),
    "name with a blank": a_function(FunctionName="'a b'"),
    "trigger on an alias that is not there": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="http", Qualifier="prod",
        TriggerConfig="{authType: anonymous, methods: [GET]}",
    ),
    "trigger of a topic that is not there": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="mns_topic",
        SourceArn="'acs:mns:cn-hangzhou:1234567890123456:/topics/nobody'", InvocationRole="'acs:ram::1:role/r'",
        TriggerConfig="{notifyContentFormat: JSON, notifyStrategy: BACKOFF_RETRY}",
    ),
    "timer without a time": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="timer",
        TriggerConfig="{cronExpression: often, enable: true}",
    ),
    "alias of a version that is not there": with_function(
        "ALIYUN::FC3::Alias", FunctionName="f", AliasName="live", VersionId="'7'"
    ),
    "unknown metric": with_function(
        "ALIYUN::FC3::ProvisionConfig", FunctionName="f", Qualifier="LATEST", Target="0",
        TargetTrackingPolicies="[{name: a, startTime: '2027-01-01T00:00:00Z', endTime: '2027-02-01T00:00:00Z',"
        " metricType: Luck, metricTarget: 0.6, minCapacity: 1, maxCapacity: 2}]",
    ),
    "keys of tokens that are none": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="http",
        TriggerConfig=f"{{{JWT}'{{\"jwks\": 5}}'}}",
    ),
    "flow that is none": a_template("ALIYUN::FNF::Flow", Name="w", Definition="'steps: 7'", Description="d"),
    "schedule of a flow that is not there": a_template(
        "ALIYUN::FNF::Schedule", FlowName="w", ScheduleName="s", CronExpression="'@every 1m'"
    ),
    "queue that hides for ever": a_template("ALIYUN::MNS::Queue", QueueName="q", VisibilityTimeout=9999999),
    "queue with a name of blanks": a_template("ALIYUN::MNS::Queue", QueueName="'a b'"),
    "subscription to a topic that is not there": a_template(
        "ALIYUN::MNS::Subscription", TopicName="t", SubscriptionName="s", Endpoint="'http://example.com/'"
    ),
    "bucket with capital letters": a_template("ALIYUN::OSS::Bucket", BucketName="Files"),
    "role that nobody may assume": a_template("ALIYUN::RAM::Role", RoleName="r", AssumeRolePolicyDocument="{}"),
    "role for a second": a_template(
        "ALIYUN::RAM::Role", RoleName="r", AssumeRolePolicyDocument=TRUST, MaxSessionDuration=1
    ),
}  # fmt: skip

ACCEPTED = {
    "trigger of a place to be filled in": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="oss",
        SourceArn="'acs:oss:cn-hangzhou:<account>:files'", InvocationRole="'acs:ram::<account>:role/r'",
        TriggerConfig="{events: ['oss:ObjectCreated:*'], filter: {key: {prefix: a, suffix: b}}}",
    ),
    "flow with a role that nobody has looked at": a_template(
        "ALIYUN::FNF::Flow", Name="w", Description="d", RoleArn="'acs:ram::<account>:role/worker'",
        Definition="{version: v1, type: flow, steps: [{type: pass, name: p}]}",
    ),
    "function with a role that is not looked at before a call": a_function(Role="xxx"),
    "domain with a function that is not there": a_template(
        "ALIYUN::FC3::CustomDomain", DomainName="a.example.com", Protocol="HTTP",
        RouteConfig="{Routes: [{Path: '/*', FunctionName: nobody}]}",
    ),
    "function": a_function(MemorySize=512, Timeout=5),
    "trigger": with_function(
        "ALIYUN::FC3::Trigger", FunctionName="f", TriggerName="t", TriggerType="timer", Qualifier="LATEST",
        TriggerConfig="{cronExpression: '@every 5m', enable: true}",
    ),
    "queue": a_template("ALIYUN::MNS::Queue", QueueName="q", VisibilityTimeout=40),
    "role": a_template("ALIYUN::RAM::Role", RoleName="r", AssumeRolePolicyDocument=TRUST),
    "call": with_function("ALIYUN::FC3::FunctionInvoker", FunctionName="f", Async="true"),
}  # fmt: skip


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in {**REFUSED, **ACCEPTED}.items()])
def test_a_plan_accepts_what_can_be_deployed(deployments, text):
    """Both say the same, and the plan names a line of the resource that is refused."""
    lines = deployments.plan(text)
    done = deployments.deploy(text)

    assert done == (not lines)
    assert not lines or min(lines) >= 3


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in REFUSED.items()])
def test_a_file_that_a_service_refuses_is_refused_by_the_plan(deployments, text):
    """Nothing is made for it."""
    assert deployments.plan(text)


SECOND = (Path(__file__).parent.parent / "unit" / "deploy" / "ros.yml").read_text()


def test_what_is_there_is_there_at_the_rehearsal(deployments):
    """Versions keep their numbers, and what a file names need not be its own."""
    api = deployments.real.api
    assert deployments.deploy(a_function())
    for number in (1, 2, 3):
        api.functions("PUT", "/2023-03-30/functions/f", {"description": f"{number}"})
        api.functions("POST", "/2023-03-30/functions/f/versions", {})
    api.functions("DELETE", "/2023-03-30/functions/f/versions/2")
    of = {"FunctionName": "f", "AliasName": "live"}

    assert deployments.plan(a_template("ALIYUN::FC3::Alias", **of, VersionId="'3'")) == set()
    assert deployments.plan(a_template("ALIYUN::FC3::Alias", **of, VersionId="'1'")) == set()
    assert deployments.plan(a_template("ALIYUN::FC3::Alias", **of, VersionId="'2'"))


def test_flow_without_a_description_does_not_end_the_rehearsal(deployments):
    """It is brought there like any other; what stands beside it is refused as without it."""
    flow = {"Name": "f", "Type": "FDL", "Description": "",
            "Definition": "version: v1\ntype: flow\nsteps: [{type: pass, name: p}]"}  # fmt: skip
    deployments.real.client.workflow("CreateFlow", **flow)

    assert deployments.plan(a_function(MemorySize=200)) == {3}


def test_code_of_a_bucket_is_there_at_the_rehearsal(deployments):
    """An object that the file names is brought along."""
    api = deployments.real.api
    api.objects("PUT", "/packages-of-all")
    api.objects("PUT", "/packages-of-all/a%20b/code.zip", b"PK\x05\x06" + bytes(18))
    place = "{OssBucketName: packages-of-all, OssObjectName: %s}"

    assert deployments.plan(a_function(Code=place % "'a b/code.zip'")) == set()
    assert deployments.plan(a_function(Code=place % "other.zip"))


def test_a_rehearsal_changes_nothing(deployments):
    """What is deployed is planned again as it is, and a change of it is rehearsed against what is there."""
    assert deployments.deploy(with_function("ALIYUN::FC3::Version", FunctionName="f"))
    before = deployments.real.api.functions("GET", "/2023-03-30/functions?limit=10")

    assert deployments.plan(a_function(MemorySize=200))
    assert deployments.plan(a_function(MemorySize=256)) == set()
    assert deployments.real.api.functions("GET", "/2023-03-30/functions?limit=10") == before


def test_everything_there_is_can_be_planned(deployments):
    """A file with all kinds of resources passes, before and after it is deployed."""
    lines = deployments.plan(SECOND)
    done = deployments.deploy(SECOND.replace("DependsOn: Online,", "DependsOn: Online, Condition: Large,"))

    assert (lines, done) == (set(), True)
    assert deployments.plan(SECOND) == set()
