"""Functions and buckets: code from an object in all three APIs, and triggers fired by what happens to objects."""

import io
import json
import os
import urllib.request
import zipfile
from itertools import count

import pytest

from tests.waiting import eventually

oss2 = pytest.importorskip("oss2")
fc2 = pytest.importorskip("fc2")
pytest.importorskip("moto.s3.models")

pytestmark = [
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:Call to deprecated function"),  # the gateway helper's own note
]


class Session(oss2.Session):
    """oss2 never ends answers without content (to HEAD, and 204), and with them their connections."""

    def do_request(self, req, timeout):
        response = super().do_request(req, timeout)
        if req.method == "HEAD" or response.status == 204:
            assert response.response.content == b""
        return response


SESSION = Session()
ECHO = "def handler(event, context):\n    print('event', event.decode())\n    return {text!r}\n"
NOTE = """
import json
def handler(event, context):
    with open({file!r}, "a") as notes:
        notes.write(json.loads(event)["events"][0]["oss"]["object"]["key"] + " ")
"""
ROLE = "acs:ram::1:role/oss"
_numbers = count()


@pytest.fixture(scope="module", autouse=True)
def closed_connections():
    yield
    SESSION.session.close()


def unique(prefix):
    return f"{prefix}-{os.getpid()}-{next(_numbers)}"


def bucket_in(emulator, name):
    auth = oss2.Auth(emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"])
    made = oss2.Bucket(auth, emulator.url, name, session=SESSION)
    made.create_bucket()
    return made


@pytest.fixture
def bucket(emulator):
    return bucket_in(emulator, unique("code"))


def zipped(text):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", ECHO.format(text=text))
    return sink.getvalue()


def waiting(emulator):
    """Return what triggers wait for, as the status says."""
    _, _, body = emulator.get("/_localyun/status", X_Localyun_Token=emulator.keys["adminToken"])
    return json.loads(body)["waiting"]


def events(emulator, function):
    """Return the events that a function has logged."""
    token = emulator.keys["adminToken"]
    status, _, body = emulator.get(f"/_localyun/logs?function={function}&lines=1000", X_Localyun_Token=token)
    lines = body.decode().splitlines() if status == 200 else []
    found = [line.partition("event ")[2] for line in lines if '"eventSource"' in line]
    return [json.loads(text)["events"][0] for text in found]


def tea(emulator, package):
    """The client of a newer API."""
    module = __import__(f"{package}.client", fromlist=["Client"])
    return module.Client(emulator.tea_config())


class Of2016:
    """A function by the classic client."""

    def __init__(self, emulator):
        self.client, self.service = emulator.fc2(), unique("svc")
        self.client.create_service(self.service)

    def create(self, bucket, key):
        self.client.create_function(
            self.service, "f", "python3.10", "index.handler", codeOSSBucket=bucket, codeOSSObject=key
        )

    def update(self, bucket, key):
        self.client.update_function(self.service, "f", codeOSSBucket=bucket, codeOSSObject=key)

    def invoke(self):
        return self.client.invoke_function(self.service, "f", payload=b"{}").data

    def download_url(self):
        return self.client.get_function_code(self.service, "f").data["url"]


class Of2021(Of2016):
    """A function by the client of 2021; services are the same."""

    def __init__(self, emulator):
        super().__init__(emulator)
        from alibabacloud_fc_open20210406 import models

        self.models, self.newer = models, tea(emulator, "alibabacloud_fc_open20210406")

    def create(self, bucket, key):
        code = self.models.Code(oss_bucket_name=bucket, oss_object_name=key)
        self.newer.create_function(
            self.service,
            self.models.CreateFunctionRequest(
                function_name="f", runtime="python3.10", handler="index.handler", code=code
            ),
        )

    def update(self, bucket, key):
        code = self.models.Code(oss_bucket_name=bucket, oss_object_name=key)
        self.newer.update_function(self.service, "f", self.models.UpdateFunctionRequest(code=code))

    def download_url(self):
        return self.newer.get_function_code(self.service, "f", self.models.GetFunctionCodeRequest()).body.url


class Of2023:
    """A function by the client of 2023."""

    def __init__(self, emulator):
        from alibabacloud_fc20230330 import models

        self.models, self.client, self.name = models, tea(emulator, "alibabacloud_fc20230330"), unique("f")

    def code(self, bucket, key):
        return self.models.InputCodeLocation(oss_bucket_name=bucket, oss_object_name=key)

    def create(self, bucket, key):
        asked = self.models.CreateFunctionInput(
            function_name=self.name, runtime="python3.12", handler="index.handler", code=self.code(bucket, key)
        )
        self.client.create_function(self.models.CreateFunctionRequest(body=asked))

    def update(self, bucket, key):
        asked = self.models.UpdateFunctionInput(code=self.code(bucket, key))
        self.client.update_function(self.name, self.models.UpdateFunctionRequest(body=asked))

    def invoke(self):
        return self.client.invoke_function(self.name, self.models.InvokeFunctionRequest(body=b"{}")).body.read()

    def download_url(self):
        return self.client.get_function_code(self.name, self.models.GetFunctionCodeRequest()).body.url


@pytest.mark.parametrize("api", [Of2016, Of2021, Of2023])
def test_code_comes_from_a_bucket(emulator, bucket, api):
    """Created from one object and updated from another; the code stays when the object goes."""
    function = api(emulator)
    two = zipped("two")
    bucket.put_object("one.zip", zipped("one"))
    bucket.put_object("dir/two.zip", two)

    function.create(bucket.bucket_name, "one.zip")
    first = function.invoke()
    function.update(bucket.bucket_name, "dir/two.zip")
    second = function.invoke()
    bucket.batch_delete_objects(["one.zip", "dir/two.zip"])
    with urllib.request.urlopen(function.download_url()) as answer:
        downloaded = answer.read()

    assert (first, second, function.invoke()) == (b"one", b"two", b"two")
    assert downloaded == two


@pytest.mark.parametrize("api", [Of2016, Of2021, Of2023])
@pytest.mark.parametrize(
    ("where", "says"),
    [
        (("no-such-bucket-anywhere", "one.zip"), "bucket no-such-bucket-anywhere does not exist"),
        ((None, "none.zip"), "object none.zip in the bucket"),
    ],
    ids=["bucket", "object"],
)
def test_code_that_cannot_be_had_is_refused(emulator, bucket, api, where, says):
    """The answer names what is missing; no function is made."""
    function = api(emulator)

    with pytest.raises(Exception) as refused:
        function.create(where[0] or bucket.bucket_name, where[1])

    assert "InvalidArgument" in str(refused.value)
    assert says in str(refused.value).replace("\\", "").replace("'", "")
    with pytest.raises(Exception, match="NotFound"):
        function.invoke()


@pytest.mark.parametrize("api", [Of2016, Of2021, Of2023])
def test_code_of_a_bucket_that_is_no_zip_is_taken(emulator, bucket, api):
    """A function is made, whose calls find no handler."""
    function = api(emulator)
    bucket.put_object("text", b"this is no archive")

    function.create(bucket.bucket_name, "text")

    try:
        said = function.invoke().decode()
    except fc2.FcError as error:
        said = str(error)
    assert "Unable to import module" in said


def test_layers_come_from_a_bucket(emulator, bucket):
    """As for functions."""
    third = Of2023(emulator)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("python/shared.py", "NAME = 'from the layer'\n")
    bucket.put_object("layer.zip", sink.getvalue())
    models = third.models

    made = third.client.create_layer_version(
        unique("layer"),
        models.CreateLayerVersionRequest(
            body=models.CreateLayerVersionInput(
                code=third.code(bucket.bucket_name, "layer.zip"), compatible_runtime=["python3.12"]
            )
        ),
    ).body

    assert made.code_size == len(sink.getvalue())


def test_multipart_objects_are_code_too(emulator, bucket):
    """A package in parts is read as one."""
    upload = bucket.init_multipart_upload("p.zip").upload_id
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("padding", os.urandom(100 * 1024))
        archive.writestr("index.py", ECHO.format(text="parts"))
    package = sink.getvalue()
    parts = []
    for number, piece in enumerate((package[: 100 * 1024], package[100 * 1024 :]), 1):
        parts.append(oss2.models.PartInfo(number, bucket.upload_part("p.zip", upload, number, piece).etag))
    bucket.complete_multipart_upload("p.zip", upload, parts, headers=None)
    function = Of2016(emulator)

    function.create(bucket.bucket_name, "p.zip")

    assert function.invoke() == b"parts"


@pytest.fixture
def listener(emulator, bucket, tmp_path):
    """Makes functions that log the objects' events they get; returns (service/function, service)."""
    client, service = emulator.fc2(), unique("listen")
    client.create_service(service)
    (tmp_path / "index.py").write_text(ECHO.format(text="ok"))

    def listen(name, wanted, prefix="", suffix="", of=None):
        client.create_function(service, name, "python3.10", "index.handler", codeDir=str(tmp_path))
        arn = f"acs:oss:cn-hangzhou:{emulator.keys['accountId']}:{of or bucket.bucket_name}"
        config = {"events": wanted, "filter": {"key": {"prefix": prefix, "suffix": suffix}}}
        client.create_trigger(service, name, "objects", "oss", config, arn, ROLE)
        return f"{service}/{name}"

    return listen


def test_each_kind_of_change_fires_its_event(emulator, bucket, listener):
    """Put, copy, append, the steps of an upload and all kinds of removal, each once, with size and ETag."""
    function = listener("all", ["oss:ObjectCreated:*", "oss:ObjectRemoved:*"])
    put = bucket.put_object("a é", b"12345", headers={"Content-Type": "text/x-t", "x-oss-meta-k": "v"})
    bucket.put_object("a é", b"1234567")
    bucket.copy_object(bucket.bucket_name, "a é", "copy")
    bucket.append_object("log", 0, b"xyz")
    upload = bucket.init_multipart_upload("m").upload_id
    part = bucket.upload_part("m", upload, 1, b"part")
    bucket.complete_multipart_upload("m", upload, [oss2.models.PartInfo(1, part.etag)], headers=None)
    given_up = bucket.init_multipart_upload("n").upload_id
    bucket.upload_part_copy(bucket.bucket_name, "log", None, "n", given_up, 1)
    bucket.abort_multipart_upload("n", given_up)
    bucket.delete_object("copy")
    bucket.delete_object("nothing")
    bucket.batch_delete_objects(["log", "m", "nothing"])

    found = eventually(lambda: len(events(emulator, function)) >= 13 and events(emulator, function))

    told = sorted((event["eventName"], event["oss"]["object"]["key"]) for event in found)
    assert told == [
        ("ObjectCreated:AppendObject", "log"),
        ("ObjectCreated:CompleteMultipartUpload", "m"),
        ("ObjectCreated:CopyObject", "copy"),
        ("ObjectCreated:InitiateMultipartUpload", "m"),
        ("ObjectCreated:InitiateMultipartUpload", "n"),
        ("ObjectCreated:PutObject", "a é"),
        ("ObjectCreated:PutObject", "a é"),
        ("ObjectCreated:UploadPart", "m"),
        ("ObjectCreated:UploadPartCopy", "n"),
        ("ObjectRemoved:AbortMultipartUpload", "n"),
        ("ObjectRemoved:DeleteObject", "copy"),
        ("ObjectRemoved:DeleteObjects", "log"),
        ("ObjectRemoved:DeleteObjects", "m"),
    ]
    first = next(event for event in found if event["responseElements"]["requestId"] == put.request_id)
    assert first["eventSource"] == "acs:oss"
    assert first["region"] == "cn-hangzhou"
    assert first["oss"]["bucket"]["name"] == bucket.bucket_name
    assert first["userIdentity"]["principalId"] == emulator.keys["accountId"]
    assert first["requestParameters"]["sourceIPAddress"] == "127.0.0.1"
    assert first["oss"]["object"] == {
        "key": "a é", "size": 5, "deltaSize": 5, "eTag": put.etag,
        "objectMeta": {"mimeType": "text/x-t", "userMeta": {"k": "v"}},
    }  # fmt: skip
    sizes = [event["oss"]["object"]["deltaSize"] for event in found if event["oss"]["object"]["key"] == "a é"]
    assert sorted(sizes) == [2, 5]


def test_filters_and_event_names_choose(emulator, bucket, listener):
    """Prefix and suffix both have to match; a trigger of another bucket or another event stays quiet."""
    images = listener("images", ["oss:ObjectCreated:PutObject"], prefix="in/", suffix=".png")
    copies = listener("copies", ["oss:ObjectCreated:CopyObject"])
    nobody = unique("other")
    elsewhere = listener("elsewhere", ["oss:ObjectCreated:*"], of=nobody)
    bucket.put_object("in/a.txt", b"1")
    bucket.put_object("out/a.png", b"1")
    bucket.copy_object(bucket.bucket_name, "out/a.png", "in/copy.png")
    bucket.put_object("in/a.png", b"1")

    eventually(lambda: events(emulator, images) and events(emulator, copies))

    assert [event["oss"]["object"]["key"] for event in events(emulator, images)] == ["in/a.png"]
    assert [event["oss"]["object"]["key"] for event in events(emulator, copies)] == ["in/copy.png"]
    assert events(emulator, elsewhere) == []
    of_these = [each for each in waiting(emulator) if bucket.bucket_name in each or nobody in each]
    assert of_these == [f"trigger objects of {elsewhere}: the bucket '{nobody}' does not exist"]


def test_triggers_of_an_acknowledged_change_fire_after_a_kill(new_emulator, tmp_path):
    """The change and the call it causes are one transaction."""
    running = new_emulator().start()
    client = running.fc2()
    client.create_service("s")
    notes, code = tmp_path / "notes", tmp_path / "code"
    code.mkdir()
    (code / "index.py").write_text(NOTE.format(file=str(notes)))
    client.create_function("s", "f", "python3.10", "index.handler", codeDir=str(code))
    bucket = bucket_in(running, "lasting")
    arn = f"acs:oss:cn-hangzhou:{running.keys['accountId']}:lasting"
    client.create_trigger("s", "f", "t", "oss", {"events": ["oss:ObjectCreated:*"]}, arn, ROLE)

    for number in range(10):
        bucket.put_object(f"key-{number}", b"1")
    running.kill()
    running.start()

    expected = {f"key-{number}" for number in range(10)}
    eventually(lambda: notes.exists() and set(notes.read_text().split()) == expected)
    assert running.stop() == 0


def test_a_task_of_a_state_machine_reads_objects(emulator):
    """Text as it is, other bytes as Base64, a range of it, and the store's own errors."""
    name = unique("flow-reads")
    bucket = bucket_in(emulator, name)
    bucket.put_object("a.txt", "hello 名")
    bucket.put_object("b.bin", b"\xff\x00")
    bucket.put_object("large", b"x" * 70_000)
    rule = {"Errors": ["FnF.ALL"], "OutputConstructor": {"code.$": "$Context.Current.Error.Code"}, "Next": "end"}
    read = {
        "Type": "Task", "Name": "read", "Action": "OSS:GetObject", "Catch": [rule], "Next": "end",
        "Parameters": {"bucket": name, "key.$": "$Input.key", "range.$": "$Input.range", "ifMatch.$": "$Input.match"},
    }  # fmt: skip
    states = [read, {"Type": "Succeed", "Name": "end"}]
    machine = {"Type": "StateMachine", "Name": name, "SpecVersion": "v1", "StartAt": "read", "States": states}
    fnf = emulator.fnf()
    fnf.send("CreateFlow", Name=name, Definition=json.dumps(machine), Description="d", Type="FDL")

    def outcome(**given):
        started = fnf.send("StartExecution", FlowName=name, Input=json.dumps(given))["Name"]
        done = fnf.send("DescribeExecution", FlowName=name, ExecutionName=started, WaitTimeSeconds=20)
        return json.loads(done["Output"])

    text = outcome(key="a.txt")
    assert (text["bucket"], text["key"], text["body"], text["isBase64Encoded"]) == (name, "a.txt", "hello 名", False)
    assert outcome(key="b.bin")["body"] == "/wA="
    assert outcome(key="a.txt", range="bytes=0-4")["body"] == "hello"
    assert outcome(key="a.txt", match=text["etag"])["etag"] == text["etag"]
    assert outcome(key="a.txt", match="nothing") == {"code": "OSS.PreconditionFailed"}
    assert outcome(key="none") == {"code": "OSS.NoSuchKey"}
    assert outcome(key="large") == {"code": "OSS.EntityTooLarge"}
    fnf.send("DeleteFlow", Name=name)
    for key in ("a.txt", "b.bin", "large"):
        bucket.delete_object(key)
    bucket.delete_bucket()
