"""Recordings: of official SDKs by `localyun record`, compared again, redacted; and those that were contributed."""

import json
import sys

import pytest

from emulator.cli.comparison.recordings import read
from tests.conformance.contributed import files, known_differences
from tests.unit.cli.conftest import Program

pytestmark = pytest.mark.starts_programs

USES = """
import base64, io, os, zipfile
from contextlib import suppress
import fc2
from mns.account import Account
from mns.mns_exception import MNSExceptionBase
from mns.queue import Message, QueueMeta
from alibabacloud_fc20230330 import models as fc3
from alibabacloud_fc20230330.client import Client as Functions
from alibabacloud_fc_open20210406 import models as fc_open
from alibabacloud_fc_open20210406.client import Client as OpenFunctions
from alibabacloud_fnf20190315 import models as fnf
from alibabacloud_fnf20190315.client import Client as Flows
from alibabacloud_ram20150501 import models as ram
from alibabacloud_ram20150501.client import Client as Users
from alibabacloud_sts20150401.client import Client as Tokens
from alibabacloud_tea_openapi.models import Config

key, secret = os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"], os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
account = os.environ["ALIBABA_CLOUD_ACCOUNT_ID"]

def config(host):
    return Config(access_key_id=key, access_key_secret=secret, endpoint=host, protocol="http", region_id="cn-hangzhou")

queues = Account(f"http://{account}.mns.cn-hangzhou.aliyuncs.com", key, secret)
queue = queues.get_queue("acme-orders")
queue.create(QueueMeta())
queue.send_message(Message("acme secret"))
queue.delete_message(queue.receive_message().receipt_handle)
with suppress(MNSExceptionBase):
    queues.get_queue("acme-missing").get_attributes()

package = io.BytesIO()
with zipfile.ZipFile(package, "w") as archive:
    archive.writestr("index.py", "def handler(event, context):\\n    return event\\n")
with open("code.zip", "wb") as file:
    file.write(package.getvalue())
host = f"{account}.cn-hangzhou.fc.aliyuncs.com"
classic = fc2.Client(endpoint=f"http://{host}", accessKeyID=key, accessKeySecret=secret)
classic.create_service("acme-shop")
classic.create_function("acme-shop", "charge", "python3.10", "index.handler", codeZipFile="code.zip")
classic.invoke_function("acme-shop", "charge", payload=b'{"card": "acme"}')
OpenFunctions(config(host)).list_services(fc_open.ListServicesRequest())
code = fc3.InputCodeLocation(zip_file=base64.b64encode(package.getvalue()).decode())
made = fc3.CreateFunctionInput(function_name="acme-pay", runtime="python3.10", handler="index.handler", code=code)
Functions(config(host)).create_function(fc3.CreateFunctionRequest(body=made))

flows = Flows(config("cn-hangzhou.fnf.aliyuncs.com"))
definition = "version: v1\\ntype: flow\\nsteps:\\n  - type: pass\\n    name: acme\\n"
flows.create_flow(fnf.CreateFlowRequest(name="acme-order", type="FDL", description="acme", definition=definition))
flows.start_execution(fnf.StartExecutionRequest(flow_name="acme-order", execution_name="acme-1", input='{"acme": 1}'))
flows.describe_execution(
    fnf.DescribeExecutionRequest(flow_name="acme-order", execution_name="acme-1", wait_time_seconds=20)
)
Tokens(config("sts.cn-hangzhou.aliyuncs.com")).get_caller_identity()
Users(config("ram.aliyuncs.com")).create_user(ram.CreateUserRequest(user_name="acme.user"))
"""


@pytest.fixture
def program(tmp_path):
    """The command, in an empty folder."""
    made = Program(tmp_path)
    yield made
    made.close()


def compared(program, file):
    """Compare a recording with an emulator that has nothing; return the code and what was printed as JSON."""
    assert program.run("reset").returncode == 0
    done = program.run("compare", "--json", str(file))
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode, json.loads(done.stdout)


def different(told):
    return [(each["operation"], one["kind"], one["place"]) for each in told["requests"] for one in each["differences"]]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of official SDKs for all services and the three dialects of Function Compute: its text."""
    program = Program(tmp_path_factory.mktemp("recorded"))
    program.start("--ephemeral")
    (program.folder / "uses.py").write_text(USES, encoding="utf-8")
    done = program.run("record", "-o", "acme.har", "--", sys.executable, "uses.py")
    program.close()
    assert done.returncode == 0, done.stderr
    return (program.folder / "acme.har").read_text(encoding="utf-8")


@pytest.fixture
def recorded(program, recording):
    """A file with that recording, beside a running emulator."""
    program.start("--ephemeral")
    file = program.folder / "acme.har"
    file.write_text(recording, encoding="utf-8")
    return file


def test_what_was_recorded_here_is_answered_the_same(program, recorded):
    """Ids, handles, tokens and times are mapped; and so it is when redacted, which leaves no name."""
    code, told = compared(program, recorded)

    assert (code, different(told)) == (0, [])
    assert {row["service"] for row in told["operations"]} == {"fc", "fnf", "mns", "ram", "sts"}
    assert program.run("compare", str(recorded), "--redact", "given.har").returncode == 0
    assert "acme" not in (program.folder / "given.har").read_text(encoding="utf-8")
    code, told = compared(program, program.folder / "given.har")
    assert (code, different(told)) == (0, [])


def test_differences_are_told_by_kind_and_place(program, recorded):
    """What another service would have answered: status, code, member, type, header."""
    content = json.loads(recorded.read_text(encoding="utf-8"))
    for entry in content["log"]["entries"]:
        answer = entry["response"]
        text = answer["content"].get("text", "")
        answer["content"]["text"] = (
            text.replace("QueueNotExist", "QueueGone").replace('"timeout":3', '"timeout":"3"')
            .replace('"Type":"FDL"', '"Kind":"FDL"')
        )  # fmt: skip
        if entry["request"]["url"].endswith("/invocations"):
            answer["status"] = 202
            answer["headers"] = [each for each in answer["headers"] if each["name"].lower() != "x-fc-request-id"]
    recorded.write_text(json.dumps(content), encoding="utf-8")

    code, told = compared(program, recorded)

    assert code == 1
    assert {
        ("GetQueueAttributes", "code", "Error.Code"),
        ("CreateFunction", "type", "timeout"),
        ("CreateFlow", "member", "Kind"),
        ("CreateFlow", "member", "Type"),
        ("InvokeFunction", "status", "status"),
        ("InvokeFunction", "header", "x-fc-request-id"),
    } <= set(different(told))
    rows = {row["operation"]: row for row in told["operations"]}
    assert (rows["InvokeFunction"]["different"], rows["SendMessage"]["same"]) == (1, 1)


@pytest.mark.parametrize("file", files(), ids=[file.stem for file in files()])
def test_contributed_recordings_are_answered_the_same(program, file):
    """But for the differences that are known, which stand beside: NAME.differences.json, lists of three texts."""
    program.start("--ephemeral")

    _, told = compared(program, file)

    assert set(different(told)) == known_differences(file)
    assert read(file.read_text(encoding="utf-8"))


def test_what_is_no_recording_is_refused_with_words(program):
    """And so is one without a call."""
    (program.folder / "text.har").write_text("{}", encoding="utf-8")
    (program.folder / "empty.har").write_text('{"log": {"entries": []}}', encoding="utf-8")
    program.start("--ephemeral")

    refused = program.run("compare", "text.har")
    empty = program.run("compare", "empty.har")

    assert refused.returncode == 2
    assert "text.har is not a recording" in refused.stderr
    assert empty.returncode == 1
    assert "no request to a service that compare supports" in empty.stderr
