"""The cases that cannot pass against an emulator on one machine, and why."""

_PYTHON_2 = "functions in Python 2"
_OLD_HANDLE = "uses a receipt handle from before ChangeMessageVisibility, which the documentation calls invalid"

CANNOT: dict[str, dict[str, str]] = {
    "fc-node": {
        "client test publish layer version should ok publishLayerVersionForBigCode should ok": (
            "the test reads an undefined variable"
        ),
    },
    "fc-java": {
        "FunctionComputeClientTest.testHttpInvokeFunction": _PYTHON_2,
        "FunctionComputeClientTest.testHttpInvokeFunctionWithoutQueriesAndBody": _PYTHON_2,
        "FunctionComputeClientTest.testOpenFunctionCompute": "orders the product through another API",
    },
    "mns-node": {
        "client test listQueue with invalid accessKeyID": (
            "expects an error text of 2019; the newer table of errors says AccessKey Id"
        ),
        "client test listQueue with invalid accessKeySecret": (
            "expects a refusal for the account `accountid`, which does not exist here"
        ),
    },
    "mns-php": {"QueueTest.testMessage": _OLD_HANDLE, "QueueTest.testMessageNoBase64": _OLD_HANDLE},
}
"""Suite -> name of the case -> reason."""
