"""The project that is put into each place: functions, a template and a test."""

import json
from pathlib import Path

PYTHON = """
import os, sys, tempfile
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared"))
import flask, mns, yaml
from shared import WORD

def handler(event, context):
    with tempfile.TemporaryFile("w+") as file:
        file.write("written")
        file.seek(0)
        return {"modules": sorted(each.__name__ for each in (flask, mns, yaml)), "shared": WORD, "file": file.read()}
"""

NODE = """
function found(name) {
  try { return require(name); } catch (error) { if (error.code !== 'MODULE_NOT_FOUND') throw error; return 'none'; }
}
exports.handler = (event, context, callback) => callback(null, JSON.stringify(
  {project: require('place-of-project'), home: found('place-of-home')}));
"""

TEMPLATE = """
ROSTemplateFormatVersion: '2015-09-01'
Transform: 'Aliyun::Serverless-2018-04-03'
Resources:
  places:
    Type: 'Aliyun::Serverless::Service'
    Properties:
      Policies:
      - AliyunMNSFullAccess
      - Version: '1'
        Statement: [{Effect: Allow, Action: 'fc:InvokeFunction', Resource: '*'}]
    deployed-python:
      Type: 'Aliyun::Serverless::Function'
      Properties: {Handler: index.handler, Runtime: python3, CodeUri: ./deployed, Timeout: 60}
    deployed-node:
      Type: 'Aliyun::Serverless::Function'
      Properties: {Handler: index.handler, Runtime: nodejs20, CodeUri: ./deployed, Timeout: 60}
    deployed-php:
      Type: 'Aliyun::Serverless::Function'
      Properties: {Handler: index.handler, Runtime: php7.2, CodeUri: ./deployed, Timeout: 60}
    deployed-custom:
      Type: 'Aliyun::Serverless::Function'
      Properties: {Handler: index.handler, Runtime: custom, CodeUri: ./deployed, Timeout: 60}
"""

PATIENT = "timeout: 60\n"
"""Settings of functions on a machine that may be busy: imports can take longer than the 3 seconds that are usual."""

DEPLOYED_PYTHON = "def handler(event, context):\n    return {'uploaded': True}\n"
DEPLOYED_NODE = "exports.handler = (event, context, callback) => callback(null, JSON.stringify({uploaded: true}));\n"
DEPLOYED_PHP = "<?php\nfunction handler($event, $context) { return json_encode(['uploaded' => true]); }\n"
BOOTSTRAP = """#!/bin/sh
exec "{python}" -c '
import http.server, os
class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b"{{\\"uploaded\\": true}}"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Server).serve_forever()
'
"""

TEST = """
def test_a_function_of_the_folder_and_a_queue(localyun):
    assert localyun.invoke("python-place").json()["modules"] == ["flask", "mns", "yaml"]
    queue = localyun.queue()
    queue.send("hello")
    assert queue.receive().body == "hello"
"""


def write(project: Path, python: str) -> None:
    """Write the project; its custom runtime is a program in *python*."""
    files = {
        "shared/shared.py": "WORD = 'of the project'\n",
        "functions/python-place/index.py": PYTHON,
        "functions/node-place/index.js": NODE,
        "functions/node-other/index.js": NODE,
        **{f"functions/{name}/function.yml": PATIENT for name in ("python-place", "node-place", "node-other")},
        "node_modules/place-of-project/index.js": "module.exports = 'of the project';\n",
        "template.yml": TEMPLATE,
        "deployed/index.py": DEPLOYED_PYTHON,
        "deployed/index.js": DEPLOYED_NODE,
        "deployed/index.php": DEPLOYED_PHP,
        "deployed/bootstrap": BOOTSTRAP.format(python=python),
        "test_place.py": TEST,
        "pytest.ini": "[pytest]\n",
    }
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (project / "deployed" / "bootstrap").chmod(0o755)


def write_home(home: Path) -> None:
    """Write what a user has installed for all functions in Node.js."""
    package = home / ".localyun" / "nodejs" / "node_modules" / "place-of-home"
    package.mkdir(parents=True)
    (package / "index.js").write_text("module.exports = 'of the home folder';\n", encoding="utf-8")
    (package / "package.json").write_text(json.dumps({"name": package.name, "main": "index.js"}), encoding="utf-8")
