"""The worker of the guide's chapter on queues: takes messages and reports each one's task as done.

Written for the cloud: the environment tells who and where, and no endpoint is named anywhere but the account's own.
"""

import json
import os

from aliyunsdkcore.acs_exception.exceptions import ServerException
from aliyunsdkcore.client import AcsClient
from aliyunsdkfnf.request.v20190315 import ReportTaskSucceededRequest
from mns.account import Account
from mns.mns_exception import MNSExceptionBase

region = os.environ["REGION"]
account_id = os.environ["ACCOUNT_ID"]
ak_id = os.environ["AK_ID"]
ak_secret = os.environ["AK_SECRET"]

fnf_client = AcsClient(ak_id, ak_secret, region)
mns_account = Account(f"https://{account_id}.mns.{region}.aliyuncs.com", ak_id, ak_secret)
queue = mns_account.get_queue("fnf-demo")
queue.set_encoding(False)


def report(task_token):
    request = ReportTaskSucceededRequest.ReportTaskSucceededRequest()
    request.set_Output(json.dumps({"key": "value"}))
    request.set_TaskToken(task_token)
    try:
        fnf_client.do_action_with_exception(request)
        print("report finished", flush=True)
    except ServerException as error:
        if error.get_error_code() != "TaskAlreadyCompleted":
            raise


def main():
    while True:
        print("receiving", flush=True)
        try:
            message = queue.receive_message(10)
        except MNSExceptionBase as error:
            print("no message:", error, flush=True)
            continue
        print("received", message.message_id, message.message_body, flush=True)
        report(json.loads(message.message_body)["task_token"])
        queue.delete_message(message.receipt_handle)
        print("deleted", message.message_id, flush=True)


main()
