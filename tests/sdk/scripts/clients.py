"""Every official Python client at its own default address: `python clients.py NAME...` prints a line for each.

A line is a JSON list of the client's name and what the service has answered; one that fails has none.

No endpoint of an emulator is named: addresses are the cloud's, made of account and region as users write them.
"""

import asyncio
import json
import logging
import os
import pathlib
import sys
import tempfile
import traceback

ACCOUNT = os.environ["ACCOUNT_ID"]
REGION = os.environ["REGION"]
KEY = os.environ["AK_ID"]
SECRET = os.environ["AK_SECRET"]


def core(protocol):
    from aliyunsdkcore.client import AcsClient
    from aliyunsdkfnf.request.v20190315.ListFlowsRequest import ListFlowsRequest

    request = ListFlowsRequest()
    request.set_protocol_type(protocol)
    return json.loads(AcsClient(KEY, SECRET, REGION).do_action_with_exception(request))


def core_sts():
    from aliyunsdkcore.client import AcsClient
    from aliyunsdkcore.request import CommonRequest

    request = CommonRequest(domain="sts.aliyuncs.com", version="2015-04-01", action_name="GetCallerIdentity")
    request.set_protocol_type("https")
    return json.loads(AcsClient(KEY, SECRET, REGION).do_action_with_exception(request))


def core_located(product, version, action):
    from aliyunsdkcore.client import AcsClient
    from aliyunsdkcore.request import CommonRequest

    request = CommonRequest(product=f"new-{product}", version=version, action_name=action)
    request.set_location_service_code(product)  # in none of the SDK's tables: it asks where the product is
    return json.loads(AcsClient(KEY, SECRET, REGION).do_action_with_exception(request))


def config(**other):
    from alibabacloud_tea_openapi.models import Config

    return Config(access_key_id=KEY, access_key_secret=SECRET, region_id=REGION, **other)


def tea_fnf():
    from alibabacloud_fnf20190315.client import Client
    from alibabacloud_fnf20190315.models import ListFlowsRequest

    return Client(config()).list_flows(ListFlowsRequest()).body.to_map()


def tea_fnf_http():
    from alibabacloud_fnf20190315.client import Client
    from alibabacloud_fnf20190315.models import ListFlowsRequest

    return Client(config(protocol="http")).list_flows(ListFlowsRequest()).body.to_map()


def tea_fnf_default_credentials():
    from alibabacloud_credentials.client import Client as Credentials
    from alibabacloud_fnf20190315.client import Client
    from alibabacloud_fnf20190315.models import ListFlowsRequest
    from alibabacloud_tea_openapi.models import Config

    client = Client(Config(credential=Credentials(), region_id=os.environ["ALIBABA_CLOUD_REGION_ID"]))
    return client.list_flows(ListFlowsRequest()).body.to_map()


def tea_fnf_async():
    from alibabacloud_fnf20190315.client import Client
    from alibabacloud_fnf20190315.models import ListFlowsRequest

    return asyncio.run(Client(config()).list_flows_async(ListFlowsRequest())).body.to_map()


def fc2_http():
    return fc2("http")


def fc2_https():
    return fc2("https")


def fc2(scheme):
    import fc2 as sdk

    client = sdk.Client(
        endpoint=f"{scheme}://{ACCOUNT}.{REGION}.fc.aliyuncs.com", accessKeyID=KEY, accessKeySecret=SECRET
    )
    return client.list_services().data


def fc3():
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_fc20230330.models import ListFunctionsRequest

    made = Client(config(endpoint=f"{ACCOUNT}.{REGION}.fc.aliyuncs.com"))
    return made.list_functions(ListFunctionsRequest()).body.to_map()


def fc3_regional():
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_fc20230330.models import ListFunctionsRequest

    return Client(config()).list_functions(ListFunctionsRequest()).body.to_map()


def fc3_async():
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_fc20230330.models import ListFunctionsRequest

    return asyncio.run(Client(config()).list_functions_async(ListFunctionsRequest())).body.to_map()


def fc_open():
    from alibabacloud_fc_open20210406.client import Client
    from alibabacloud_fc_open20210406.models import ListServicesRequest

    made = Client(config(endpoint=f"{ACCOUNT}.{REGION}.fc.aliyuncs.com"))
    return made.list_services(ListServicesRequest()).body.to_map()


def fc_open_default():
    from alibabacloud_fc_open20210406.client import Client
    from alibabacloud_fc_open20210406.models import ListServicesRequest

    return Client(config()).list_services(ListServicesRequest()).body.to_map()


def fc_open_trigger(scheme):
    """Call an HTTP trigger that wants signatures, which this client sends past its own way for other operations."""
    import fc2 as sdk
    from alibabacloud_fc_open20210406.client import Client

    host = f"{ACCOUNT}.{REGION}.fc.aliyuncs.com"
    functions = sdk.Client(endpoint=f"https://{host}", accessKeyID=KEY, accessKeySecret=SECRET)
    service = f"clients-{scheme}"
    functions.create_service(service)
    code = b"def handler(environ, start):\n    start('200 OK', [])\n    return [b'triggered']\n"
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "index.py").write_bytes(code)
        functions.create_function(service, "web", "python3.10", "index.handler", codeDir=folder)
    functions.create_trigger(service, "web", "http", "http", {"authType": "function", "methods": ["GET"]}, "", "")
    try:
        address = f"{scheme}://{host}/2016-08-15/proxy/{service}/web/"
        return Client(config(endpoint=host)).invoke_httptrigger(address, "GET", None, {}).text
    finally:
        functions.delete_trigger(service, "web", "http")
        functions.delete_function(service, "web")
        functions.delete_service(service)


def mns_http():
    return mns("http")


def mns_https():
    return mns("https")


def mns(scheme):
    from mns.account import Account
    from mns.queue import Message, QueueMeta

    logger = logging.getLogger("worker")  # without one the client writes a log file into its package
    account = Account(f"{scheme}://{ACCOUNT}.mns.{REGION}.aliyuncs.com", KEY, SECRET, logger=logger)
    queue = account.get_queue(f"clients-{scheme}")
    queue.create(QueueMeta())
    queue.send_message(Message("hello"))
    received = queue.receive_message(1)
    queue.delete_message(received.receipt_handle)
    queue.delete()
    return received.message_body


def mns_open():
    from alibabacloud_mns_open20220119.client import Client
    from alibabacloud_mns_open20220119.models import ListQueueRequest

    return Client(config()).list_queue(ListQueueRequest()).body.to_map()


def sts():
    from alibabacloud_sts20150401.client import Client

    return Client(config()).get_caller_identity().body.to_map()


def oss2_https():
    import oss2

    bucket = oss2.Bucket(oss2.Auth(KEY, SECRET), f"https://oss-{REGION}.aliyuncs.com", "example")
    return [each.key for each in bucket.list_objects().object_list]


CLIENTS = {
    "core-fnf-http": lambda: core("http"),
    "core-fnf-https": lambda: core("https"),
    "core-sts-https": core_sts,
    "core-located-fnf": lambda: core_located("fnf", "2019-03-15", "ListFlows"),
    "core-located-mns": lambda: core_located("mns", "2022-01-19", "ListQueue"),
    "tea-fnf": tea_fnf,
    "tea-fnf-http": tea_fnf_http,
    "tea-fnf-default-credentials": tea_fnf_default_credentials,
    "tea-fnf-async": tea_fnf_async,
    "fc2-http": fc2_http,
    "fc2-https": fc2_https,
    "fc3": fc3,
    "fc3-regional": fc3_regional,
    "fc3-async": fc3_async,
    "fc-open": fc_open,
    "fc-open-default": fc_open_default,
    "fc-open-trigger-http": lambda: fc_open_trigger("http"),
    "fc-open-trigger-https": lambda: fc_open_trigger("https"),
    "mns-http": mns_http,
    "mns-https": mns_https,
    "mns-open": mns_open,
    "sts": sts,
    "oss2": oss2_https,
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            print(json.dumps([name, CLIENTS[name]()], default=str))
        except Exception:
            traceback.print_exc()
