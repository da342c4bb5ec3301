"""The cases that cannot pass against an emulator on one machine, and why."""

_PYTHON_2 = "in Python 2"
_OLD_HANDLE = "with the handle from before ChangeMessageVisibility, which the documentation calls dead"

CANNOT: dict[str, dict[str, str]] = {
    "fc-node": {
        "client test publish layer version should ok publishLayerVersionForBigCode should ok": (
            "reads a variable that it does not define"
        ),
    },
    "fc-java": {
        "FunctionComputeClientTest.testHttpInvokeFunction": _PYTHON_2,
        "FunctionComputeClientTest.testHttpInvokeFunctionWithoutQueriesAndBody": _PYTHON_2,
        "FunctionComputeClientTest.testOpenFunctionCompute": "buys the product, through the API of another one",
    },
    "mns-node": {
        "client test listQueue with invalid accessKeyID": (
            "expects the text of 2019; the error table of the documentation, which is newer, says AccessKey Id"
        ),
        "client test listQueue with invalid accessKeySecret": (
            "expects the refusal of another account at the host of `accountid`, which is no number: nobody, here"
        ),
    },
    "mns-php": {"QueueTest.testMessage": _OLD_HANDLE, "QueueTest.testMessageNoBase64": _OLD_HANDLE},
}
"""Suite -> name of the case -> reason."""
