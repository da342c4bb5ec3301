"""The cases that cannot pass against an emulator on one machine, and why."""

_CHANCE = "wants a later second after 0.3 s in a trigger's times, which have seconds: one run of three passes"
_RIGHTS = "wants a call refused for rights, and the suite's emulator runs without --enforce-ram"
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
    },
    "fc-java": {
        "FunctionComputeClientTest.testCRUD": _CHANCE,
        "FunctionComputeClientTest.testCRUDStsToken": _CHANCE,
        "FunctionComputeClientTest.testCRUDStsTokenHttps": _CHANCE,
        "FunctionComputeClientTest.testCreateServiceStsTokenNoPassRole": _RIGHTS,
        "FunctionComputeClientTest.testHttpInvokeFunction": _PYTHON_2,
        "FunctionComputeClientTest.testHttpInvokeFunctionWithoutQueriesAndBody": _PYTHON_2,
        "FunctionComputeClientTest.testOpenFunctionCompute": "buys the product, through the API of another one",
    },
    "mns-php": {"QueueTest.testMessage": _OLD_HANDLE, "QueueTest.testMessageNoBase64": _OLD_HANDLE},
}
"""Suite -> name of the case -> reason."""
