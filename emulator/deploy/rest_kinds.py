"""The resources of Function Compute, through its two APIs: 2016-08-15 for services, 2023-03-30 for functions alone."""

from collections.abc import Mapping

from emulator.deploy.kind import Kind
from emulator.deploy.rest_plain import Function, Plain
from emulator.deploy.rest_settings import Setting
from emulator.deploy.rest_versions import Invocation, Layer, Version

_V2, _V3 = "/2016-08-15", "/2023-03-30"

_FUNCTION_2 = (
    "runtime", "handler", "description", "timeout", "memorySize", "cpu", "diskSize", "instanceConcurrency",
    "environmentVariables", "customRuntimeConfig", "customDNS", "instanceLifecycleConfig", "layers", "initializer",
    "initializationTimeout", "instanceSoftConcurrency", "instanceType", "gpuMemorySize", "caPort",
    "customContainerConfig", "customHealthCheckConfig",
)  # fmt: skip
_SURROUNDINGS = ("role", "internetAccess", "logConfig", "vpcConfig", "nasConfig", "ossMountConfig", "tracingConfig")
_FUNCTION_3 = (
    "runtime", "handler", "description", "timeout", "memorySize", "cpu", "diskSize", "instanceConcurrency",
    "environmentVariables", "customRuntimeConfig", "customDNS", "instanceLifecycleConfig", "layers", *_SURROUNDINGS,
    "gpuConfig", "customContainerConfig", "disableOndemand", "idleTimeout",
)  # fmt: skip
_TRIGGER = ("triggerType", "triggerConfig", "sourceArn", "invocationRole", "qualifier", "description")
_TRIGGER_TELLS = {"TriggerId": "triggerId", "UrlInternet": "urlInternet", "UrlIntranet": "urlIntranet"}
_ALIAS = ("versionId", "description", "additionalVersionWeight")
_DOMAIN = ("protocol", "routeConfig", "certConfig", "tlsConfig", "authConfig")
_S2, _F2, _F3 = (
    _V2 + "/services/{0}",
    _V2 + "/services/{0}/functions/{1}",
    _V3 + "/functions/{0}",
)

REST_KINDS: Mapping[str, Kind] = {
    "fc.service": Plain(
        _V2 + "/services", _S2, "serviceName", ("description", *_SURROUNDINGS), tells={"ServiceId": "serviceId"}
    ),
    "fc.function": Function(_S2 + "/functions", _F2, "functionName", _FUNCTION_2, tells={"FunctionId": "functionId"}),
    "fc.trigger": Plain(
        _F2 + "/triggers",
        _F2 + "/triggers/{2}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        tells=_TRIGGER_TELLS | {"UrlIntranet": "urlInternet"},
    ),
    "fc.version": Version(_S2 + "/versions"),
    "fc.alias": Plain(_S2 + "/aliases", _S2 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc.provision": Setting(_V2 + "/services/{0}.{1}/functions/{2}/provision-config", {"target": 0}),
    "fc.async": Setting(_V2 + "/services/{0}.{2}/functions/{1}/async-invoke-config"),
    "fc.domain": Plain(_V2 + "/custom-domains", _V2 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc.layer": Layer(_V2 + "/layers/{0}/versions"),
    "fc.invocation": Invocation(_F2 + "/invocations"),
    "fc3.function": Function(_V3 + "/functions", _F3, "functionName", _FUNCTION_3, tells={"FunctionId": "functionId"}),
    "fc3.trigger": Plain(
        _F3 + "/triggers",
        _F3 + "/triggers/{1}",
        "triggerName",
        _TRIGGER,
        fixed=("triggerType", "sourceArn"),
        as_text=("triggerConfig",),
        tells=_TRIGGER_TELLS,
    ),
    "fc3.version": Version(_F3 + "/versions"),
    "fc3.alias": Plain(_F3 + "/aliases", _F3 + "/aliases/{1}", "aliasName", _ALIAS),
    "fc3.provision": Setting(_F3 + "/provision-config?qualifier={1}"),
    "fc3.scaling": Setting(_F3 + "/scaling-config?qualifier={1}"),
    "fc3.async": Setting(_F3 + "/async-invoke-config?qualifier={1}"),
    "fc3.concurrency": Setting(_F3 + "/concurrency"),
    "fc3.domain": Plain(_V3 + "/custom-domains", _V3 + "/custom-domains/{0}", "domainName", _DOMAIN),
    "fc3.layer": Layer(_V3 + "/layers/{0}/versions"),
    "fc3.invocation": Invocation(_F3 + "/invocations"),
}
