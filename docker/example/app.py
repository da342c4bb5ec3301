"""A program written for the cloud: it knows its account and region, and no address of an emulator."""

import json
import os

import fc2
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315.ListFlowsRequest import ListFlowsRequest

account, region = os.environ["ACCOUNT_ID"], os.environ["REGION"]
key_id, secret = os.environ["AK_ID"], os.environ["AK_SECRET"]

functions = fc2.Client(
    endpoint=f"https://{account}.{region}.fc.aliyuncs.com", accessKeyID=key_id, accessKeySecret=secret
)
print("function:", functions.invoke_function("fnf-demo", "hello").data.decode())

flows = AcsClient(key_id, secret, region)
print("flows:", json.loads(flows.do_action_with_exception(ListFlowsRequest()))["Flows"])
