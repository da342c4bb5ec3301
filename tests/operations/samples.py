"""What a parameter is filled with, by its name: values that services take, so that calls get beyond their checks."""

import base64
import io
import zipfile
from functools import cache
from typing import Any

CODE = "def handler(event, context):\n    return event\n"
FLOW = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: one}\n"
CRON = "0 0 8 * * ?"
ROLE = "acs:ram::1234567890123456:role/tester"


@cache
def package() -> bytes:
    """Return a code package whose handler echoes."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", CODE)
    return sink.getvalue()


_TEXTS = {
    "functionname": "f", "servicename": "s", "aliasname": "online", "layername": "layer", "triggername": "t",
    "domainname": "www.example.com", "handler": "index.handler", "runtime": "python3.10", "zipfile": None,
    "definition": FLOW, "type": "FDL", "flowname": "flow", "name": "flow", "executionname": "run",
    "schedulename": "sched",
    "cronexpression": CRON, "input": "{}", "payload": "{}", "output": "{}", "qualifier": "LATEST", "versionid": "1",
    "version": "1", "queuename": "q", "topicname": "t", "subscriptionname": "sub", "endpoint": "http://127.0.0.1:9/",
    "role": ROLE, "rolearn": ROLE, "invocationrole": ROLE, "executionrole": ROLE, "triggertype": "timer",
    "triggerconfig": '{"cronExpression": "@every 5m", "enable": true}', "protocol": "HTTP", "enable": "true",
    "limit": "10", "nexttoken": "", "startkey": "", "prefix": "", "direction": "BACKWARD", "messagebody": "text",
    "destination": "acs:mns:cn-hangzhou:1234567890123456:/queues/q/messages",
    "resourcearn": "acs:fc:cn-hangzhou:1234567890123456:services/s",
    "pushtype": "http", "notifystrategy": "BACKOFF_RETRY", "notifycontentformat": "SIMPLIFIED", "status": "Running",
    "queuetype": "normal", "topictype": "normal",
    "logbeginrule": "None", "methods": "GET", "sortorderbytime": "asc", "resourcetype": "function",
    "executionmode": "Standard", "starttime": "2026-01-01T00:00:00Z", "endtime": "2030-01-01T00:00:00Z",
    "startedtimebegin": "2026-01-01T00:00:00Z", "startedtimeend": "2030-01-01T00:00:00Z", "waittimeseconds": "0",
    "startversion": "1", "metrictype": "CPUUtilization", "endpointtype": "public", "osstype": "", "sourcearn": "",
    "scheduleexpression": "@every 5m", "alias": "online", "description": "", "requestid": "", "tasktoken": "token",
    "error": "Error", "cause": "cause",
}  # fmt: skip

CLASSIC: dict[str, Any] = {
    "triggerConfig": {"cronExpression": "@every 5m", "enable": True},
    "triggerType": "timer",
    "routeConfig": {"routes": [{"path": "/*", "serviceName": "s", "functionName": "f", "qualifier": "LATEST"}]},
    "certConfig": None,
    "environmentVariables": {"key": "value"},
    "additionalVersionWeight": {"1": 0.5},
    "tags": {"key": "value"},
    "tagKeys": ["key"],
    "asyncConfig": {"maxAsyncRetryAttempts": 1, "maxAsyncEventAgeInSeconds": 60},
    "logConfig": {"project": "p", "logstore": "l"},
    "vpcConfig": {"vpcId": "v", "vSwitchIds": ["w"], "securityGroupId": "g"},
    "nasConfig": None,
    "internetAccess": True,
    "deleteAll": False,
    "limit": 10,
    "target": 1,
    "maximumInstanceCount": 1,
    "memorySize": 128,
    "timeout": 3,
    "payload": b"{}",
    "initializer": None,
    "initializationTimeout": 3,
    "instanceConcurrency": 1,
    "customContainerConfig": None,
    "customRuntimeConfig": None,
    "caPort": None,
    "instanceType": "e1",
    "layers": [],
    "instanceLifecycleConfig": None,
    "asyncConfiguration": None,
    "tracingConfig": None,
}


def text(name: str) -> str:
    """Return a text for the parameter *name*, in whatever spelling."""
    key = name.lower().replace("_", "")
    if key == "zipfile":
        return base64.b64encode(package()).decode()
    return _TEXTS.get(key) or ("" if key in _TEXTS else "text")


def number(name: str) -> int:
    """Return a number that most limits allow."""
    key = name.lower().replace("_", "")
    known = {"memorysize": 512, "disksize": 512, "timeout": 3, "port": 9000, "visibilitytimeout": 30,
    "maximummessagesize": 65536,
             "messageretentionperiod": 3600, "caport": 9000, "gpumemorysize": 0, "maxasynceventageinseconds": 60,
             "waittimeseconds": 0, "pollingwaitseconds": 0, "delayseconds": 0}  # fmt: skip
    return known.get(key, 1)


def argument(name: str) -> Any:
    """Return an argument of the classic functions client: names are marked, because they stand in paths."""
    key = name.lower()
    if key.endswith("name") or key in {"qualifier", "versionid", "alias"}:
        return f"zz-{name}-zz"
    return text(name)


def message_argument(name: str) -> Any:
    """Return an argument of the classic messages client."""
    known: dict[str, Any] = {
        "queue_name": "zz-queue_name-zz", "topic_name": "zz-topic_name-zz",
        "subscription_name": "zz-subscription_name-zz",
        "message_body": "text", "receipt_handle": "1-ABC", "receipt_handle_list": ["1-ABC", "1-DEF"], "batch_size": 3,
        "base64encode": True, "base64decode": True, "wait_seconds": 1, "ret_number": 10, "visibility_timeout": 30,
        "maximum_message_size": 65536, "message_retention_period": 3600, "delay_seconds": 0, "polling_wait_seconds": 0,
        "logging_enabled": True, "prefix": "q", "marker": "", "with_meta": True, "endpoint": "http://127.0.0.1:9/",
        "notify_strategy": "BACKOFF_RETRY", "notify_content_format": "XML", "filter_tag": "tag",
        "logging_bucket": "bucket",
        "priority": 8, "message_tag": "tag", "direct_mail": None, "direct_sms": None, "message_group_id": "",
    }  # fmt: skip
    return known[name]
