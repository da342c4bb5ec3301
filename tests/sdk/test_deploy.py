"""`localyun deploy`: each kind of file deployed, used through an official client, changed, deployed again, removed."""

import contextlib
import io
import json
import os
import shutil
from pathlib import Path

import pytest

from emulator.cli import connection
from emulator.cli.main import main
from emulator.deploy.kinds import PROVIDERS
from emulator.services.fc.triggers.model import KINDS
from tests import commands

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
PROJECTS = Path(__file__).parent / "projects"


class Project:
    """A project in a folder of its own, deployed to an emulator by the real command."""

    def __init__(self, emulator, folder):
        self.emulator = emulator
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALYUN_")}
        self.environment |= {"LOCALYUN_STATE": str(emulator.state), "PYTHONPATH": str(ROOT)}

    def run(self, *words):
        return commands.run(words, cwd=self.folder, env=self.environment, timeout=90)

    def deploy(self, *words):
        """Deploy and return what ``--json`` prints."""
        done = self.run("deploy", *words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def actions(self, *words):
        """Deploy and return what was done, by logical name, without what was left alone."""
        plan = self.deploy(*words)["plan"]
        return {step["logicalName"]: step["action"] for step in plan if step["action"] != "unchanged"}

    def replace(self, name, old, new):
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def listed(self, *words):
        """Return what the command prints of what there is, without a process of its own."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert main([*words, "--json", "--state", str(self.emulator.state)]) == 0
        return json.loads(said.getvalue())

    def everything(self):
        """Return what is in the emulator, in the words of the services' lists."""
        fc2 = self.emulator.fc2()
        services = [row["serviceName"] for row in fc2.list_services().data["services"]]
        found = {
            "services": services,
            "functions": [
                row["functionName"] for each in services for row in fc2.list_functions(each).data["functions"]
            ],
            "domains": [row["domainName"] for row in fc2.list_custom_domains().data["customDomains"]],
        }
        for kind in ("flow", "queue", "topic", "trigger"):
            found[kind] = self.listed(kind, "list")
        found["roles"] = self.roles()
        return found

    def roles(self):
        from aliyunsdkcore.client import AcsClient
        from aliyunsdkcore.request import CommonRequest

        client = AcsClient(self.emulator.keys["accessKeyId"], self.emulator.keys["accessKeySecret"], "cn-hangzhou")
        found = {}
        for action, many in (("ListRoles", "Roles"), ("ListPolicies", "Policies")):
            request = CommonRequest(domain=self.emulator.address, version="2015-05-01", action_name=action)
            request.set_protocol_type("http")
            request.set_method("POST")
            if action == "ListPolicies":
                request.add_query_param("PolicyType", "Custom")
            rows = next(iter(json.loads(client.do_action_with_exception(request))[many].values()), [])
            found[many] = sorted(row.get("RoleName") or row.get("PolicyName") for row in rows)
        client.session.close()
        return found


@pytest.fixture(scope="module")
def empty_emulator(tmp_path_factory):
    """An emulator with nothing in it, shared by the tests here: each leaves it as it was."""
    from tests.conftest import RunningEmulator

    running = RunningEmulator(tmp_path_factory.mktemp("deploy")).start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def project(empty_emulator, tmp_path):
    """Copy a project; after the test the emulator holds what it held before."""
    made = []

    def make(name):
        shutil.copytree(PROJECTS / name, tmp_path / name)
        made.append(Project(empty_emulator, tmp_path / name))
        made.append(made[0].everything())
        return made[0]

    yield make
    assert made[0].everything() == made[1]
    assert made[0].listed("deployments") == []


def invoke(emulator, service, function, event):
    return emulator.fc2().invoke_function(service, function, payload=event).data


def said(emulator):
    return json.loads(invoke(emulator, "deploy-shop", "greet", b"you"))["said"]


def output_of(emulator, flow):
    """Run a flow and return its output."""
    fnf = emulator.fnf()
    fnf.send("StartExecution", FlowName=flow, ExecutionName="e", Input='{"x": 1}')
    ended = fnf.send("DescribeExecution", FlowName=flow, ExecutionName="e", WaitTimeSeconds=20)
    assert ended["Status"] == "Succeeded", ended
    return json.loads(ended["Output"])


def test_funcraft_template_is_deployed_used_changed_and_removed(project):
    """Functions, flow, topic, domain, roles: made once, called through the SDKs, changed where the file changed."""
    shop = project("funcraft")
    emulator = shop.emulator

    first = shop.deploy()
    again = shop.actions()

    assert {row["status"] for row in first["resources"]} == {"CREATE_COMPLETE"}
    assert again == {}
    assert said(emulator) == "first"
    path = first["outputs"]["Web"].removeprefix(emulator.url)
    assert emulator.get(path + "/")[2] == b"hello from the web"
    assert emulator.get("/", Host="shop.example.com")[2] == b"hello from the web"
    assert output_of(emulator, "deploy-flow") == {"said": "first", "to": '{"x":1}'}
    function = emulator.fc2().get_function("deploy-shop", "greet").data
    assert (function["memorySize"], function["timeout"]) == (256, 10)
    assert function["environmentVariables"] == {"STAGE": "test"}

    shop.replace("code/index.py", '"first"', '"second"')
    shop.replace("template.yml", "          STAGE: test\n", "          SIZE: 3\n")
    shop.replace("template.yml", "  deploy-news:", "  deploy-none:")
    shop.replace("template.yml", "!Ref deploy-news", "!Ref deploy-none")
    changed = shop.actions()

    assert changed == {
        "deploy-none": "create",
        "deploy-shop/greet": "update",
        "deploy-shop/web": "update",
        "deploy-shop/greet/news": "replace",
        "deploy-news": "delete",
    }
    assert said(emulator) == "second"
    assert emulator.fc2().get_function("deploy-shop", "greet").data["environmentVariables"] == {"SIZE": "3"}

    removed = shop.run("deploy", "--remove")
    assert removed.returncode == 0, removed.stdout + removed.stderr


def test_ros_template_is_deployed_used_changed_and_removed(project):
    """Plain types with functions, mappings and conditions; versions keep their number, the invoker its answer."""
    app = project("ros")
    emulator = app.emulator

    first = app.deploy("--parameter", "AppName=demo")
    again = app.actions("--parameter", "AppName=demo")

    names = {row["logicalName"]: row["physicalName"] for row in first["resources"]}
    assert again == {}
    assert first["outputs"]["Answer"] == '{"name": "hello world"}'
    assert names["V"] == "demo-service.1"
    assert emulator.fc2().get_alias("demo-service", "online").data["versionId"] == "1"
    assert invoke(emulator, "demo-service.online", "hello", b"") == b'{"name": "hello world"}'
    schedule = emulator.fnf().send("DescribeSchedule", FlowName="demo", ScheduleName="demo-schedule")
    assert schedule["CronExpression"] == "@every 1m"
    assert emulator.get("/2023-03-30/proxy/f3/")[0] == 200

    app.replace("template.yml", "@every 1m", "@every 2m")
    app.replace("template.yml", "VisibilityTimeout: 40", "VisibilityTimeout: 50")
    app.replace("template.yml", "FilterTag: x", "FilterTag: y")
    changed = app.actions("--parameter", "AppName=demo")

    assert changed == {"Schedule": "update", "Q": "update", "S": "replace"}
    assert app.run("deploy", "--remove").returncode == 0


def test_serverless_devs_projects_are_deployed_used_changed_and_removed(project):
    """Editions 3.0.0 and 1.0.0 side by side in one folder, each a deployment of its own."""
    devs = project("devs")
    emulator = devs.emulator

    devs.deploy()
    devs.deploy("s-1.yaml")
    again = devs.actions() | devs.actions("s-1.yaml")

    assert again == {}
    assert json.loads(invoke(emulator, "devs-service", "first", b"1")) == {"first": 1}
    assert emulator.fc2().get_function("devs-service", "second").data["environmentVariables"] == {"FIRST": "first"}
    called = devs.run("invoke", "devs-api", "--event", "2")
    assert json.loads(called.stdout) == {"first": 2}
    assert output_of(emulator, "devs-flow") == {"first": {"x": 1}}

    devs.replace("code/index.py", '"first"', '"second"')
    devs.replace("s.yaml", "      concurrencyConfig: {reservedConcurrency: 5}\n", "")
    changed = devs.actions()

    assert changed == {"api": "update", "api/concurrency": "delete"}
    assert json.loads(devs.run("invoke", "devs-api", "--event", "2").stdout) == {"second": 2}
    assert devs.run("deploy", "--remove").returncode == 0
    assert devs.run("deploy", "--remove", "s-1.yaml").returncode == 0


def test_every_kind_deployed_again_changes_nothing(project):
    """All kinds of resources and types of triggers: the second plan is empty, and the other command agrees."""
    every = project("every")
    files = ("s.yaml", "s-1.yaml", "ros.yml")

    made = [step for file in files for step in every.deploy(file)["plan"]]
    again = [every.deploy(file)["plan"] for file in files]
    compared = [every.run("diff", file) for file in files]
    unrecorded = [every.actions(file, "--plan", "--name", "another") for file in files]
    triggers = {row["type"] for row in json.loads(every.run("trigger", "list", "--json").stdout)}
    removed = [every.run("deploy", "--remove", file).returncode for file in reversed(files)]

    assert {step["action"] for step in made} == {"create"}
    assert {step["kind"] for step in made} == set(PROVIDERS)
    assert triggers == KINDS
    assert [step for plan in again for step in plan if step["action"] != "unchanged"] == []
    assert [(done.returncode, done.stdout.strip()) for done in compared] == [(0, "no differences")] * 3
    numbered = {"Version", "Version3", "Call", "Call3", "Layer", "Layer3"}
    assert unrecorded == [
        {"layer": "create", "worker": "update"},
        {},
        dict.fromkeys(numbered, "create") | dict.fromkeys(("Alias", "Alias3", "Bucket"), "update"),
    ]
    assert removed == [0, 0, 0]


def test_failure_half_way_leaves_what_was_there(project):
    """A flow that is refused undoes what came before it: what is new goes, what has changed gets its code back."""
    shop = project("funcraft")
    shop.deploy()
    before = shop.everything()
    function = shop.emulator.fc2().get_function("deploy-shop", "greet").data
    shop.replace("code/index.py", '"first"', '"second"')
    shop.replace("template.yml", "MemorySize: 256", "MemorySize: 512")
    shop.replace("template.yml", "  deploy-news:", "  deploy-more:")
    shop.replace("template.yml", "!Ref deploy-news", "!Ref deploy-more")
    shop.replace("flow.yml", "type: task", "type: tsk")

    done = shop.run("deploy")

    assert done.returncode == 1
    assert "update Aliyun::Serverless::Flow deploy-flow" in done.stderr
    assert "the earlier state is restored" in done.stderr
    after = shop.emulator.fc2().get_function("deploy-shop", "greet").data
    assert {**after, "lastModifiedTime": ""} == {**function, "lastModifiedTime": ""}
    assert said(shop.emulator) == "first"
    assert [row["TopicName"] for row in shop.everything()["topic"]] == [row["TopicName"] for row in before["topic"]]
    assert shop.run("deploy", "--remove").returncode == 0


def test_broken_file_is_told_with_lines_and_changes_nothing(project):
    """Both problems are told, and the exit code is 1."""
    shop = project("funcraft")
    shop.replace("template.yml", "MemorySize: 256", "MemorySiz: 256")
    shop.replace("template.yml", "Aliyun::Serverless::MNSTopic", "Aliyun::Serverless::Topic")

    done = shop.run("deploy")

    assert done.returncode == 1
    assert "template.yml:26:" in done.stderr
    assert "did you mean MemorySize?" in done.stderr
    assert "the resource type Aliyun::Serverless::Topic is not known" in done.stderr


def test_what_was_there_before_stays_when_the_deployment_goes(project):
    """A queue that somebody else made is brought to what the file says, and left when it is removed."""
    devs = project("devs")
    devs.run("queue", "create", "devs-jobs")
    devs.deploy()
    attributes = json.loads(devs.run("queue", "attributes", "devs-jobs", "--json").stdout)

    removed = devs.run("deploy", "--remove")

    assert attributes["VisibilityTimeout"] == 60
    assert "existed before; kept" in removed.stdout
    assert devs.run("queue", "delete", "devs-jobs").returncode == 0


def test_plan_changes_nothing(project):
    """--plan tells what would be done."""
    shop = project("funcraft")

    done = shop.run("deploy", "--plan")

    assert "to create" in done.stdout
    assert shop.everything()["services"] == []


def test_files_that_are_not_read_and_settings_that_do_not_count_are_noted(project):
    """The other usual file of the folder, unless a file is named; a function.yml that the deployment overrules."""
    shop = project("funcraft")
    (shop.folder / "s.yaml").write_text(
        "edition: 3.0.0\nname: other\nresources:\n  f:\n    component: fc3\n    props:\n"
        "      {functionName: f, runtime: python3.12, handler: index.handler, code: ./functions/f}\n"
    )
    (shop.folder / "functions" / "f").mkdir(parents=True)
    (shop.folder / "functions" / "f" / "index.py").write_text("def handler(event, context): return event\n")
    (shop.folder / "functions" / "f" / "function.yml").write_text("timeout: 30\n")

    usual, named = shop.run("deploy", "--plan"), shop.run("deploy", "s.yaml", "--plan")

    text = "template.yml is read, not s.yaml; name the file to choose another"
    assert usual.stderr.splitlines() == [text]
    assert named.stderr == ""
    place = "functions/f/function.yml:1:1"
    note = f"note: s.yaml:4:3: {place} sets timeout to 30; it is left out here, so the default 3 counts"
    assert named.stdout.splitlines()[0] == note


def test_another_project_of_the_same_name_is_kept_apart(project):
    """The second one is refused until it has a name of its own."""
    devs = project("devs")
    devs.deploy()
    other = devs.folder / "elsewhere"
    shutil.copytree(PROJECTS / "devs", other)

    refused = devs.run("deploy", "elsewhere")

    assert refused.returncode == 1
    assert "choose another name with --name" in refused.stderr
    assert devs.run("deploy", "--remove").returncode == 0


def test_client_elsewhere_with_nothing_but_the_keys_can_remove(project, tmp_path):
    """The record is the emulator's: the address and the access key are enough to go on from it."""
    devs = project("devs")
    devs.deploy()
    keys = devs.emulator.keys
    elsewhere = {
        "LOCALYUN_ENDPOINT": devs.emulator.url,
        "LOCALYUN_STATE": str(tmp_path / "nowhere"),
        "LOCALYUN_ACCESS_KEY_ID": keys["accessKeyId"],
        "LOCALYUN_ACCESS_KEY_SECRET": keys["accessKeySecret"],
        "LOCALYUN_ACCOUNT_ID": keys["accountId"],
        "LOCALYUN_REGION": keys["region"],
    }
    before, devs.environment = devs.environment, {**devs.environment, **elsewhere}

    removed = devs.run("deploy", "--remove")

    devs.environment = before
    assert removed.returncode == 0, removed.stderr


def test_records_need_a_signature(empty_emulator):
    """Nobody reads or writes the records without a key, whatever token they have."""
    status, _, body = empty_emulator.get("/_localyun/deployments")

    assert status == 403
    assert json.loads(body)["Code"] == "Forbidden"


APPS = sorted(path.parent.name for path in (ROOT / "sample-apps").glob("*/template.yml"))


def test_every_sample_application_has_a_template():
    """One per chapter of the guide."""
    assert len(APPS) == 8


@pytest.mark.parametrize("app", APPS)
def test_sample_application_is_deployed_and_removed(project, app):
    """Its template makes the flow its client runs, again changes nothing, and leaves nothing behind."""
    here = project("devs")
    folder = str(ROOT / "sample-apps" / app)

    made = here.deploy(folder)
    again = here.actions(folder)
    flows = [row["Name"] for row in here.everything()["flow"]]
    removed = here.run("deploy", folder, "--remove")

    assert f"fnf-demo-{app}" in flows
    assert {row["status"] for row in made["resources"]} == {"CREATE_COMPLETE"}
    assert again == {}
    assert removed.returncode == 0, removed.stderr


def test_deployed_topic_reaches_the_function_that_reports(project):
    """The topic of the guide's third chapter, made by its template alone: push, HTTP trigger, report."""
    here = project("devs")
    folder = str(ROOT / "sample-apps" / "mns-topic-callback")
    here.deploy(folder)
    fnf = here.emulator.fnf()
    names = {"FlowName": "fnf-demo-mns-topic-callback", "ExecutionName": "e"}

    fnf.send("StartExecution", Input='{"messageBody": "hello"}', **names)
    ended = fnf.send("DescribeExecution", WaitTimeSeconds=40, **names)

    assert ended["Status"] == "Succeeded", ended
    assert json.loads(ended["Output"]) == {"status": "success"}
    assert here.run("deploy", folder, "--remove").returncode == 0


@pytest.mark.parametrize("command", ["deploy", "diff", "deploy --remove"])
def test_a_deployment_takes_as_many_connections_however_much_there_is(emulator, tmp_path, monkeypatch, command):
    """One for the look at whose emulator it is, and one for all calls."""
    resources = {f"Q{n}": {"Type": "ALIYUN::MNS::Queue", "Properties": {"QueueName": f"kept-{n}"}} for n in range(20)}
    content = {"ROSTemplateFormatVersion": "2015-09-01", "Resources": resources}
    (tmp_path / "template.yml").write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALYUN_STATE", str(emulator.state))
    opened, real = [], connection._connected
    monkeypatch.setattr(connection, "_connected", lambda *given: (opened.append(given), real(*given))[1])
    if command != "deploy":
        assert main(["deploy", "--name", "kept"]) == 0
        opened.clear()

    assert main([*command.split(), "--name", "kept"]) == 0

    assert len(opened) <= 2
    assert main(["deploy", "--remove", "--name", "kept"]) == (1 if "--remove" in command else 0)


def test_a_list_of_functions_takes_as_many_connections_however_many_services_there_are(emulator, monkeypatch, capsys):
    """One for the look at whose emulator it is, and one for all calls."""
    client = emulator.fc2()
    for number in range(5):
        client.create_service(f"listed-{number}")
    monkeypatch.setenv("LOCALYUN_STATE", str(emulator.state))
    opened, real = [], connection._connected
    monkeypatch.setattr(connection, "_connected", lambda *given: (opened.append(given), real(*given))[1])

    assert main(["function", "list", "--json"]) == 0

    assert len(opened) <= 2
    assert json.loads(capsys.readouterr().out) is not None
    for number in range(5):
        client.delete_service(f"listed-{number}")
