"""The emulator a suite runs against, and what a suite takes for granted in its account: a bucket, keys, names."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from emulator.testing import Emulator, Localyun

ROOT = Path(__file__).parents[2]
BUCKET = "code-of-the-suites"
ROLE = "suite"
_PACKAGES = {
    "hello_world_nodejs.zip": (
        "hello_world.js",
        "exports.handler = function(event, context, callback) {\n  callback(null, 'hello world');\n};\n",
    ),
    "hello_world.zip": ("main.py", "def my_handler(event, context):\n    return 'hello world'\n"),
}
"""What the Go suite deploys from the bucket: name of the object -> name and text of the file in it."""


@contextmanager
def running(settings: Mapping[str, str]) -> Iterator[Localyun]:
    """Start an emulator that keeps nothing, with bucket and role in it."""
    with Emulator(environment=settings) as emulator:
        _fill(emulator)
        _make_role(emulator)
        yield emulator


def _fill(emulator: Localyun) -> None:
    import oss2  # type: ignore[import-untyped]  # of the extra "sdk", which this task installs

    keys = oss2.Auth(emulator.access_key_id, emulator.access_key_secret)
    bucket = oss2.Bucket(keys, emulator.endpoint, BUCKET, is_path_style=True)
    bucket.create_bucket()
    for name, (file, text) in _PACKAGES.items():
        packed = BytesIO()
        with ZipFile(packed, "w") as archive:
            archive.writestr(file, text)
        bucket.put_object(name, packed.getvalue())


def _make_role(emulator: Localyun) -> None:
    """Make the role that the variables name: it may do everything, for the account and every service."""
    from aliyunsdkcore.client import AcsClient  # type: ignore[import-untyped]  # of the extra "sdk"
    from aliyunsdkcore.request import CommonRequest  # type: ignore[import-untyped]  # the same

    services = [f"{name}.aliyuncs.com" for name in ("fc", "log", "mns", "oss")]
    principal = {"Service": services, "RAM": [f"acs:ram::{emulator.account_id}:root"]}
    trusted = {"Version": "1", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}]}
    client = AcsClient(emulator.access_key_id, emulator.access_key_secret, emulator.region)
    for action, given in (
        ("CreateRole", {"AssumeRolePolicyDocument": json.dumps(trusted)}),
        ("AttachPolicyToRole", {"PolicyType": "System", "PolicyName": "AdministratorAccess"}),
    ):
        request = CommonRequest(emulator.endpoint.partition("//")[2], "2015-05-01", action)
        request.set_protocol_type("http")
        for name, value in (("RoleName", ROLE), *given.items()):
            request.add_query_param(name, value)
        client.do_action_with_exception(request)


def variables(emulator: Localyun) -> dict[str, str]:
    """Return the environment variables the suites read: the emulator's own account, and names of things beside it."""
    account, region = emulator.account_id, emulator.region
    first, second = _certificate("one"), _certificate("two")
    role = f"acs:ram::{account}:role/{ROLE}"
    return {
        "ENDPOINT": emulator.endpoint, "REGION": region, "FC_REGION": region, "ACCOUNT_ID": account,
        "ACCESS_KEY_ID": emulator.access_key_id, "ACCESS_KEY_SECRET": emulator.access_key_secret,
        "ACCESS_KEY": emulator.access_key_id, "SECRET_KEY": emulator.access_key_secret,
        "TEST_ENDPOINT": emulator.endpoint, "TEST_ACCOUNT_ID": account, "TEST_SERVICE_ROLE": role,
        "TEST_ACCESS_KEY": emulator.access_key_id, "TEST_SECRET_KEY": emulator.access_key_secret,
        "TEST_CUSTOM_CONTAINER_IMAGE": f"registry.{region}.aliyuncs.com/suite/hello:v1", "REGION_IMAGE_ACCL": region,
        "CODE_BUCKET": BUCKET, "TRIGGER_BUCKET": BUCKET,
        "ROLE": role, "STS_ROLE": role, "INVOCATION_ROLE": role, "INVOCATION_ROLE_SLS": role, "VPC_ROLE": role,
        "LOG_PROJECT": "suite-project", "LOG_STORE": "suite-store",
        "VPC_ID": "vpc-suite", "VSWITCH_IDS": "vsw-suite", "SECURITY_GROUP_ID": "sg-suite",
        "USER_ID": "10003", "GROUP_ID": "10003", "NAS_SERVER_ADDR": "suite.nas.aliyuncs.com:/",
        "NAS_MOUNT_DIR": "/mnt/suite", "JAEGER_ENDPOINT": "http://jaeger.example.com:9411/api/traces",
        "PUBLIC_KEY_CERTIFICATE_01": first[0], "PRIVATE_KEY_01": first[1],
        "PUBLIC_KEY_CERTIFICATE_02": second[0], "PRIVATE_KEY_02": second[1],
    }  # fmt: skip


def run(words: list[str], emulator: Localyun, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a program in *folder* as ``localyun exec`` does, so that calls of the cloud's own hosts come here too.

    Returns what it has written to its standard output; what it writes to the other one is shown.
    """
    command = [sys.executable, "-m", "emulator", "exec", "--state", emulator.state, "--", *words]
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, cwd=folder, env=given, stdout=subprocess.PIPE, check=False)
    return done.stdout.decode("utf-8", "replace")


def _certificate(name: str) -> tuple[str, str]:
    """Make a certificate signed by itself, and its key, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}.example.com")])
    start = datetime(2020, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=20_000))
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(form, serialization.PrivateFormat.TraditionalOpenSSL, plain)
    return certificate.public_bytes(form).decode(), private.decode()
