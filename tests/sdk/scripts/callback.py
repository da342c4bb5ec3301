"""The script of the guide's chapter on callbacks: reports the task of the token given as the argument as done."""

import os
import sys

from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315 import ReportTaskSucceededRequest

account_id = os.environ["ACCOUNT_ID"]
ak_id = os.environ["AK_ID"]
ak_secret = os.environ["AK_SECRET"]

client = AcsClient(ak_id, ak_secret, "cn-hangzhou")
request = ReportTaskSucceededRequest.ReportTaskSucceededRequest()
request.set_TaskToken(sys.argv[1])
request.set_Output('{"status": "ok"}')
print(client.do_action_with_exception(request))
