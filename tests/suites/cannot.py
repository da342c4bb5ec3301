"""The cases that cannot pass against an emulator on one machine, and why."""

_RAW_BODY = "its code requires raw-body, which the platform's Node.js runtimes bring and this machine does not"
_TOKENS = "the core SDK of Java sends no proxy credentials for HTTPS, so it does not reach the token service"
_PYTHON_2 = "the function is written in Python 2"
_OLD_HANDLE = "deletes with the handle from before ChangeMessageVisibility, which the documentation calls dead"

CANNOT: dict[str, dict[str, str]] = {
    "fc-python": {
        "TestGetAccountSetting.test_get_account_setting": "wants the zone of the makers' own region",
    },
    "fc-node": {
        "client test publish layer version should ok publishLayerVersionForBigCode should ok": (
            "the case reads a variable that it does not define"
        ),
        "client test service should ok invokeFunction with injected span context should pass traceID to context": (
            _RAW_BODY
        ),
        **{
            f"client test function should ok {name}": _RAW_BODY
            for name in (
                "invokeFunction should ok",
                "invokeFunction should faster",
                "invokeFunction with buffer response should return buffer",
                "invokeFunction with handled error should decode with utf8",
                "invokeFunction with rawBuf=false should return string",
                "invokeFunction with unhandled error should decode with utf8",
            )
        },
        **{
            f"client test http trigger should be ok {name}": _RAW_BODY
            for name in (
                "http trigger with function error passing through should be ok",
                "send `GET` request to access http function should be ok",
                "send `GET` request with empty queries and headers to access http function should be ok",
            )
        },
    },
    "fc-java": {
        "FunctionComputeClientTest.testCRUDStsToken": _TOKENS,
        "FunctionComputeClientTest.testCRUDStsTokenHttps": _TOKENS,
        "FunctionComputeClientTest.testCreateServiceStsTokenNoPassRole": _TOKENS,
        "FunctionComputeClientTest.testHttpInvokeFunction": _PYTHON_2,
        "FunctionComputeClientTest.testHttpInvokeFunctionWithoutQueriesAndBody": _PYTHON_2,
        "FunctionComputeClientTest.testNewRegions": "calls regions of the cloud by their own addresses",
        "FunctionComputeClientTest.testOpenFunctionCompute": "buys the product, through the API of another one",
    },
    "mns-php": {"QueueTest.testMessage": _OLD_HANDLE, "QueueTest.testMessageNoBase64": _OLD_HANDLE},
}
"""Suite -> name of the case -> reason."""
