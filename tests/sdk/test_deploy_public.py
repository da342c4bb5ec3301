"""`localyun deploy` of what published projects hold beyond functions: buckets, container images, build commands."""

import json
import os
from pathlib import Path

import pytest

from tests import commands

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """An emulator for this file."""
    from tests.conftest import RunningEmulator

    emulator = RunningEmulator(tmp_path_factory.mktemp("public")).start()
    yield emulator
    assert emulator.stop() == 0


@pytest.fixture
def run(running, tmp_path):
    """Run the real command in a folder of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALYUN_")}
    environment |= {"LOCALYUN_STATE": str(running.state), "PYTHONPATH": str(ROOT)}

    def call(*words):
        return commands.run(words, cwd=tmp_path, env=environment, timeout=90)

    return call


def bucket(running, name):
    import oss2

    auth = oss2.Auth(running.keys["accessKeyId"], running.keys["accessKeySecret"])
    return oss2.Bucket(auth, running.address, name, is_path_style=True)


def names_of_buckets(running):
    import oss2

    auth = oss2.Auth(running.keys["accessKeyId"], running.keys["accessKeySecret"])
    return [each.name for each in oss2.BucketIterator(oss2.Service(auth, running.address))]


BUCKET = """\
ROSTemplateFormatVersion: '2015-09-01'
Resources:
  files:
    Type: ALIYUN::OSS::Bucket
    Properties: {BucketName: files-of-the-shop, AccessControl: private, DeletionForce: true}
Outputs:
  host: {Value: !GetAtt files.DomainName}
"""


def test_bucket_is_made_changed_and_removed_with_its_objects(running, run, tmp_path):
    """The official client sees it; DeletionForce takes objects away too."""
    template = tmp_path / "template.yml"
    template.write_text(BUCKET)

    made = json.loads(run("deploy", "--json").stdout)
    again = json.loads(run("deploy", "--json").stdout)
    template.write_text(BUCKET.replace("private", "public-read"))
    changed = json.loads(run("deploy", "--json").stdout)
    files = bucket(running, "files-of-the-shop")
    acl = files.get_bucket_acl().acl
    for key in ("a b/ä.txt", "plain"):
        files.put_object(key, b"content")
    removed = run("deploy", "--remove", "--yes")

    assert made["outputs"] == {"host": "files-of-the-shop.oss-cn-hangzhou.aliyuncs.com"}
    assert [each["plan"][0]["action"] for each in (made, again, changed)] == ["create", "unchanged", "update"]
    assert acl == "public-read"
    assert removed.returncode == 0, removed.stderr
    assert names_of_buckets(running) == []


def test_function_with_an_image_is_removed(running, run, tmp_path):
    """There is no package to keep for an undo."""
    (tmp_path / "s.yaml").write_text(
        "edition: 3.0.0\nname: image\nresources:\n  api:\n    component: fc3\n    props:\n"
        "      functionName: of-an-image\n      runtime: custom-container\n      handler: index.handler\n"
        "      customContainerConfig: {image: registry.example.com/a/b:1, port: 9000}\n"
    )

    made = run("deploy")
    removed = run("deploy", "--remove", "--yes")

    assert made.returncode == 0, made.stderr
    assert removed.returncode == 0, removed.stderr


BUILT = """\
edition: 3.0.0
name: built
resources:
  api:
    component: fc3
    actions:
      pre-deploy:
        - run: mkdir -p dist && cp index.py dist && echo built
          path: ./src
    props: {functionName: built, runtime: python3.10, handler: index.handler, code: ./src/dist}
"""


def test_code_is_built_by_the_file_when_asked(running, run, tmp_path):
    """Without the option the command is named; with it, it is shown and run before the code is packed."""
    (tmp_path / "s.yaml").write_text(BUILT)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "index.py").write_text("def handler(event, context):\n    return event\n")

    refused = run("deploy")
    built = run("deploy", "--run-actions", "--json")
    later = json.loads(run("deploy", "--json").stdout)
    removed = run("deploy", "--remove", "--yes")

    assert refused.returncode == 1
    assert "mkdir -p dist && cp index.py dist && echo built (localyun deploy --run-actions runs that)" in refused.stderr
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["notes"] == []
    assert built.stderr.splitlines()[:2] == [
        "to run: mkdir -p dist && cp index.py dist && echo built (in ./src)",
        "built",
    ]
    assert [note["line"] for note in later["notes"]] == [8]
    assert removed.returncode == 0, removed.stderr


def test_plan_says_which_commands_the_deployment_would_run(run, tmp_path):
    """And runs none of them."""
    (tmp_path / "s.yaml").write_text(BUILT.replace("./src/dist", "./src"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "index.py").write_text("def handler(event, context):\n    return event\n")

    planned = run("deploy", "--run-actions", "--plan")

    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.startswith("note: s.yaml:8:11: not run, as this is a plan: mkdir -p dist && ")
    assert not (tmp_path / "src" / "dist").exists()


def test_removing_says_what_is_wrong_with_the_file(run, tmp_path):
    """It needs only the name, which is that of the folder then."""
    (tmp_path / "s.yaml").write_text("edition: 3.0.0\nresources:\n  q: {component: mns-queue, props: {queueName: q}}\n")
    deployed = run("deploy")
    (tmp_path / "s.yaml").write_text("edition: 3.0.0\nname: [x\n")

    removed = run("deploy", "--remove", "--yes")

    assert deployed.returncode == 0, deployed.stderr
    assert "s.yaml:2:7: not valid YAML: the bracket [ is not closed\n" in removed.stderr
    assert "looked for under that of the folder" in " ".join(removed.stderr.split())
    assert (removed.returncode, json.loads(run("deployments", "--json").stdout)) == (0, [])


def test_command_that_fails_stops_the_deployment(run, tmp_path):
    """Nothing is made then."""
    (tmp_path / "s.yaml").write_text(BUILT.replace("cp index.py dist", "exit 3"))
    (tmp_path / "src").mkdir()

    failed = run("deploy", "--run-actions")

    assert failed.returncode == 1
    assert "ended with exit code 3" in failed.stderr
    assert json.loads(run("deployments", "--json").stdout) == []


def test_answer_of_a_function_names_a_bucket(running, run, tmp_path):
    """What an invoker's function answers is read with Fn::GetJsonValue while the deployment goes on."""
    (tmp_path / "template.yml").write_text(
        "ROSTemplateFormatVersion: '2015-09-01'\nTransform: 'Aliyun::Serverless-2018-04-03'\nResources:\n"
        "  answering:\n    Type: Aliyun::Serverless::Service\n    name:\n      Type: Aliyun::Serverless::Function\n"
        "      Properties: {Handler: index.handler, Runtime: python3.10, CodeUri: index.py}\n"
        "  call:\n    Type: ALIYUN::FC::FunctionInvoker\n    DependsOn: answering\n"
        "    Properties: {ServiceName: answering, FunctionName: name}\n"
        "  files:\n    Type: ALIYUN::OSS::Bucket\n"
        "    Properties: {BucketName: !GetJsonValue [bucket, {'Fn::GetAtt': [call, Result]}]}\n"
    )
    (tmp_path / "index.py").write_text(
        'def handler(event, context):\n    return \'{"bucket": "named-by-a-function"}\'\n'
    )

    made = run("deploy")
    names = names_of_buckets(running)
    removed = run("deploy", "--remove", "--yes")

    assert made.returncode == 0, made.stderr
    assert names == ["named-by-a-function"]
    assert removed.returncode == 0, removed.stderr
    assert names_of_buckets(running) == []
