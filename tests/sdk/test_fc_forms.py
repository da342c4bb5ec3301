"""What typed clients take for granted in answers, through the official SDKs."""

import io
import shutil
import subprocess
import uuid
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.sdk

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture
def service(emulator):
    """A service of its own for each test."""
    name = f"s{uuid.uuid4().hex[:12]}"
    emulator.fc2().create_service(name)
    return name


def test_python_client_reads_a_service_with_nothing_set(emulator, service):
    """Every structure is there; there is no token after the last page."""
    client = emulator.fc2()

    shown = client.get_service(service).data

    assert shown["logConfig"]["project"] == ""
    assert shown["tracingConfig"] == {"type": None, "params": None}
    assert shown["role"] == ""
    assert "nextToken" not in client.list_functions(service).data


def test_python_client_reads_an_alias_without_weights_and_a_version(emulator, service):
    """Weights are null; the version has its own description."""
    client = emulator.fc2()
    client.publish_version(service, "as published")
    client.create_alias(service, "live", "1", "first")

    assert client.get_alias(service, "live").data["additionalVersionWeight"] is None
    assert client.get_service(service, qualifier="1").data["description"] == "as published"


def test_package_goes_through_the_lent_bucket(emulator, service):
    """The keys write to the bucket, and the function runs what was put there."""
    oss2 = pytest.importorskip("oss2")
    client = emulator.fc2()
    method, path = "GET", f"/2016-08-15/services/{service}/tempCodeBucketToken"
    place = client._do_request(method, path, client._build_common_headers(method, path, {})).json()
    keys = place["credentials"]
    auth = oss2.StsAuth(keys["AccessKeyId"], keys["AccessKeySecret"], keys["SecurityToken"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return 'from a bucket'\n")
    name = f"{emulator.keys['accountId']}/{service}/{place['objectName']}"

    oss2.Bucket(auth, emulator.url, place["ossBucket"], is_path_style=True).put_object(name, packed.getvalue())
    client.create_function(
        service, "f", "python3.10", "index.handler", codeOSSBucket=place["ossBucket"], codeOSSObject=name
    )

    assert client.invoke_function(service, "f").data == b"from a bucket"


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js here")
def test_node_client_reads_the_same(emulator, service):
    """Null is null and absent is undefined."""
    if not (SCRIPTS / "node_modules" / "@alicloud" / "fc2").is_dir():
        pytest.skip("python3 dev.py clients installs the SDK")
    program = """
        const Client = require('@alicloud/fc2');
        const [account, key, secret, endpoint, name] = process.argv.slice(1);
        const options = { accessKeyID: key, accessKeySecret: secret, region: 'cn-hangzhou', endpoint };
        const client = new Client(account, options);
        (async () => {
          const { data } = await client.getService(name);
          const list = await client.listFunctions(name);
          console.log(JSON.stringify([data.tracingConfig, typeof list.data.nextToken]));
        })();
    """
    keys = emulator.keys
    words = [keys["accountId"], keys["accessKeyId"], keys["accessKeySecret"], emulator.url, service]

    done = subprocess.run(
        ["node", "-e", program, *words], cwd=SCRIPTS, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == '[{"type":null,"params":null},"undefined"]'
