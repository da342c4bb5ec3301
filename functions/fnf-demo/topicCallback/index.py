"""Subscribed to a topic through an HTTP trigger: reports the task whose token a message carries as done."""

import json

from aliyunsdkcore.auth.credentials import StsTokenCredential
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315.ReportTaskSucceededRequest import ReportTaskSucceededRequest


def handler(environ, start_response):
    """Take a notification in the format JSON, report its task and answer OK."""
    size = int(environ.get("CONTENT_LENGTH") or 0)
    notification = json.loads(environ["wsgi.input"].read(size))
    message = json.loads(notification["Message"])
    print("message body:", message["messageBody"])

    report(environ["fc.context"], message["taskToken"])

    start_response("200 OK", [("Content-type", "text/plain")])
    return [b"OK"]


def report(context, task_token):
    """Report success to the flow that waits, with the temporary credentials of the function's role."""
    given = context.credentials
    credential = StsTokenCredential(given.access_key_id, given.access_key_secret, given.security_token)
    client = AcsClient(region_id=context.region, credential=credential)
    request = ReportTaskSucceededRequest()
    request.set_TaskToken(task_token)
    request.set_Output(json.dumps({"status": "success"}))
    print("reported:", client.do_action_with_exception(request).decode())
