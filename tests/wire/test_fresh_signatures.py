"""Requests that the installed official clients sign at this moment authenticate, with lasting and temporary keys.

The clients talk to a recorder on a loopback port that authenticates each request with the system's clock and answers
with an error of the right form; what the client makes of that does not matter here.
"""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey
from emulator.http.message import Headers, Request
from emulator.kernel.clock import HOUR, Millis, SystemClock
from emulator.kernel.identity import AccountId

pytestmark = [pytest.mark.sdk, pytest.mark.filterwarnings("ignore")]  # the clients leave sockets to the collector

CLOCK = SystemClock()
LASTING = AccessKey(key_id="localyun-key", secret="lasting-secret", account=AccountId("111"), arn="acs:ram::111:root")
TEMPORARY = AccessKey(
    key_id="STS.localyuntemporary",
    secret="temporary-secret",
    account=AccountId("111"),
    arn="acs:ram::111:assumed-role/r/s",
    token="CAIS/with+specials==" + "t" * 300,
    expires_at=Millis(CLOCK.now() + HOUR),
)

JSON_ERROR = (
    b'{"RequestId":"R","HostId":"h","Code":"Refused","Message":"a: b","ErrorCode":"Refused","ErrorMessage":"b"}'
)
XML_ERROR = (
    b'<?xml version="1.0" ?>\n<Error xmlns="http://mns.aliyuncs.com/doc/v1">\n  <Code>Refused</Code>\n'
    b"  <Message>m</Message>\n  <RequestId>r</RequestId>\n  <HostId>h</HostId>\n</Error>"
)


class OneKey:
    def find(self, key_id):
        return TEMPORARY if key_id == TEMPORARY.key_id else None


class Recorder:
    """A server that authenticates what it gets and keeps (request, principal or failure)."""

    def __init__(self):
        self.seen = []
        gate = Authenticator(Keyring(LASTING, OneKey()), lenient=False, nonces=NonceMemory())
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                pairs = [(n, v.encode("latin-1").decode("utf-8", "surrogateescape")) for n, v in self.headers.items()]
                request = Request(self.command, self.path, Headers(pairs), body)
                try:
                    outcome = gate.authenticate(request, CLOCK.now())
                except Exception as error:
                    outcome = error
                seen.append((request, outcome))
                is_xml = any(mark in str(self.headers) for mark in ("MNS ", "OSS")) or "OSS" in self.path
                content = XML_ERROR if is_xml else JSON_ERROR
                self.send_response(403)
                self.send_header("Content-Type", "text/xml;charset=utf-8" if is_xml else "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("x-mns-request-id", "r")
                self.end_headers()
                self.wfile.write(content if self.command != "HEAD" else b"")

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(scope="module")
def shared_recorder():
    recorder = Recorder()
    yield recorder
    recorder.close()


@pytest.fixture
def recorder(shared_recorder):
    shared_recorder.seen.clear()
    return shared_recorder


with_both_keys = pytest.mark.parametrize("key", [LASTING, TEMPORARY], ids=["lasting", "temporary"])


def call(function, *arguments, **options):
    """Call and forget the refusal."""
    with contextlib.suppress(Exception):
        function(*arguments, **options)


def outcomes(recorder):
    return [outcome for _, outcome in recorder.seen]


def principal(key):
    from emulator.kernel.identity import Principal

    return Principal(key.account, key.key_id, key.arn, key.token is not None)


def core_client(key):
    from aliyunsdkcore.auth.credentials import AccessKeyCredential, StsTokenCredential
    from aliyunsdkcore.client import AcsClient

    credential = (
        StsTokenCredential(key.key_id, key.secret, key.token)
        if key.token
        else AccessKeyCredential(key.key_id, key.secret)
    )
    return AcsClient(region_id="cn-hangzhou", credential=credential)


@with_both_keys
def test_core_client_rpc(recorder, key):
    """aliyun-python-sdk-core signs RPC calls: GET and POST, odd characters, a flow's definition in a form."""
    from aliyunsdkcore.request import CommonRequest
    from aliyunsdkfnf.request.v20190315 import CreateFlowRequest, DescribeFlowRequest

    client = core_client(key)
    create = CreateFlowRequest.CreateFlowRequest()
    create.set_Name("é ~*'()!")
    create.set_Definition("version: v1\ntype: flow\nsteps:\n- type: pass\n  name: a%20+b&c=d\n" * 20)
    describe = DescribeFlowRequest.DescribeFlowRequest()
    describe.set_Name("flow")
    common = CommonRequest(domain=recorder.address, version="2015-04-01", action_name="AssumeRole")
    common.set_method("POST")
    common.add_body_params("RoleArn", "acs:ram::1:role/r")
    common.add_query_param("Empty", "")
    for request in (create, describe):
        request.set_endpoint(recorder.address)
    for request in (create, describe, common):
        call(client.do_action_with_exception, request)

    assert outcomes(recorder) == [principal(key)] * 3


@with_both_keys
def test_core_client_roa(recorder, key):
    """aliyun-python-sdk-core signs ROA calls."""
    from aliyunsdkcore.request import CommonRequest

    client = core_client(key)
    request = CommonRequest(domain=recorder.address, version="2016-08-15", uri_pattern="/2016-08-15/services/[name]")
    request.add_path_param("name", "svc")
    request.add_query_param("prefix", "a b/é")
    request.add_query_param("empty", "")
    call(client.do_action_with_exception, request)
    request.set_method("POST")
    request.set_content(b'{"a":1}')
    call(client.do_action_with_exception, request)

    assert outcomes(recorder) == [principal(key)] * 2


def tea_config(recorder, key, scheme_in_endpoint=False):
    from alibabacloud_tea_openapi.models import Config

    endpoint = f"http://{recorder.address}" if scheme_in_endpoint else recorder.address
    return Config(
        access_key_id=key.key_id,
        access_key_secret=key.secret,
        security_token=key.token,
        endpoint=endpoint,
        protocol="http",
        region_id="cn-hangzhou",
    )


@with_both_keys
def test_workflow_client(recorder, key):
    """alibabacloud_fnf20190315 signs with RPC v1."""
    from alibabacloud_fnf20190315 import models
    from alibabacloud_fnf20190315.client import Client

    client = Client(tea_config(recorder, key))
    call(client.start_execution, models.StartExecutionRequest(flow_name="f é", input='{"a": "b+c ~*"}'))
    call(client.list_flows, models.ListFlowsRequest(limit=3))

    assert outcomes(recorder) == [principal(key)] * 2


@with_both_keys
@pytest.mark.parametrize("scheme_in_endpoint", [False, True], ids=["host", "url"])
def test_function_client_of_the_third_generation(recorder, key, scheme_in_endpoint):
    """alibabacloud_fc20230330 signs with ACS3, also when its endpoint is given as a URL."""
    import io

    from alibabacloud_fc20230330 import models
    from alibabacloud_fc20230330.client import Client

    client = Client(tea_config(recorder, key, scheme_in_endpoint))
    call(client.list_functions, models.ListFunctionsRequest(prefix="a b", limit=3))
    call(client.invoke_function, "hello", models.InvokeFunctionRequest(body=io.BytesIO(b'{"k": 1}')))

    assert outcomes(recorder) == [principal(key)] * 2


@with_both_keys
def test_token_and_management_clients(recorder, key):
    """alibabacloud_sts20150401 and alibabacloud_mns_open20220119 sign RPC-style calls with ACS3."""
    from alibabacloud_mns_open20220119 import models as mns_models
    from alibabacloud_mns_open20220119.client import Client as MnsOpenClient
    from alibabacloud_sts20150401 import models as sts_models
    from alibabacloud_sts20150401.client import Client as StsClient

    request = sts_models.AssumeRoleRequest(role_arn="acs:ram::1:role/r", role_session_name="s")
    call(StsClient(tea_config(recorder, key)).assume_role, request)
    call(
        MnsOpenClient(tea_config(recorder, key)).create_topic,
        mns_models.CreateTopicRequest(topic_name="t", max_message_size=1),
    )

    assert outcomes(recorder) == [principal(key)] * 2


@with_both_keys
def test_function_client_of_the_first_generation(recorder, key):
    """fc2 signs with the FC scheme: control plane, invocation and HTTP trigger."""
    import fc2

    client = fc2.Client(
        endpoint=f"http://{recorder.address}",
        accessKeyID=key.key_id,
        accessKeySecret=key.secret,
        securityToken=key.token or "",
    )
    call(client.list_services, limit=3, prefix="a b")
    call(client.invoke_function, "svc", "fn", b"payload", headers={"x-fc-invocation-type": "Async"})
    call(client.do_http_request, "POST", "svc", "fn", "/p q/é", headers={}, params={"b": "2 +", "a": ""}, body=b"x")

    assert outcomes(recorder) == [principal(key)] * 3


@with_both_keys
def test_function_client_of_the_second_generation_on_a_trigger(recorder, key):
    """alibabacloud_fc_open20210406 signs HTTP-trigger requests through its gateway helper."""
    from alibabacloud_fc_open20210406.client import Client

    client = Client(tea_config(recorder, key))
    url = f"http://{recorder.address}/2016-08-15/proxy/svc/fn/p%20q?b=2&a=1%2B1&c"
    call(client.invoke_httptrigger, url, "POST", b"x", {"content-type": "text/plain"})

    assert outcomes(recorder) == [principal(key)]


@with_both_keys
def test_message_client(recorder, key):
    """aliyun-mns-sdk signs with the MNS scheme."""
    from mns.account import Account
    from mns.queue import Message, QueueMeta

    account = Account(f"http://{recorder.address}", key.key_id, key.secret, key.token or "")
    queue = account.get_queue("my-queue")
    call(queue.create, QueueMeta())
    call(queue.send_message, Message("é body"))
    call(queue.receive_message, 1)
    call(queue.delete_message, "1-a+b/c==")
    call(account.list_queue, "prefix", 3)

    assert outcomes(recorder) == [principal(key)] * 5


@with_both_keys
@pytest.mark.parametrize("version", ["AuthV1", "AuthV2", "AuthV4"])
def test_object_client(recorder, key, version):
    """oss2 signs with each of its three schemes, in headers and in URLs."""
    import oss2
    import requests
    from oss2.credentials import StaticCredentialsProvider

    names = {"AuthV1": "ProviderAuth", "AuthV2": "ProviderAuthV2", "AuthV4": "ProviderAuthV4"}
    provider = StaticCredentialsProvider(key.key_id, key.secret, key.token or "")
    auth = getattr(oss2, names[version])(provider)
    bucket = oss2.Bucket(auth, f"http://{recorder.address}", "my-bucket", region="cn-hangzhou", enable_crc=False)
    call(bucket.put_object, "dir/é +*~.txt", b"data", headers={"Content-Type": "text/plain", "x-oss-meta-a": "1"})
    call(bucket.list_objects, prefix="a/b c")
    call(bucket.get_bucket_acl)
    call(requests.get, bucket.sign_url("GET", "dir/é.txt", 60, slash_safe=True), timeout=5)

    assert outcomes(recorder) == [principal(key)] * 4


@with_both_keys
def test_trigger_called_as_the_vendors_sample_does(recorder, key):
    """alibabacloud_openapi_util signs date and token only, with an empty digest."""
    import requests
    from alibabacloud_openapi_util.client import Client
    from Tea.request import TeaRequest

    from emulator.wire.dates import iso_seconds

    signed = TeaRequest()
    signed.method, signed.pathname, signed.query = "POST", "/a/b", {"foo": "b r"}
    signed.headers = {"x-acs-date": iso_seconds(CLOCK.now()), "x-acs-security-token": key.token or ""}
    text = Client.get_authorization(signed, "ACS3-HMAC-SHA256", "", key.key_id, key.secret)
    url = f"http://{recorder.address}/a/b?foo=b%20r"

    requests.post(url, data=b"hello", headers={**signed.headers, "authorization": text}, timeout=5)

    assert outcomes(recorder) == [principal(key)]
