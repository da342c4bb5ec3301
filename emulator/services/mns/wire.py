"""The message service's XML: documents as the live service lays them out.

Three things matter to official clients: the namespace has no slash at its end (the Java client compares it), the
request id's header is written in lower case (the Python client looks it up that way), and the content type is this
one on every answer (the Node client ignores the body otherwise).
"""

from emulator.dialect.xml import Element, render
from emulator.http.message import Request, Response
from emulator.kernel.errors import ServiceError

NAMESPACE = "http://mns.aliyuncs.com/doc/v1"
VERSION = "2015-06-06"


def common_headers(request_id: str) -> list[tuple[str, str]]:
    """Return the headers every answer carries."""
    return [
        ("Content-Type", "text/xml;charset=utf-8"),
        ("Server", "AliyunMQS"),
        ("x-mns-request-id", request_id),
        ("x-mns-version", VERSION),
    ]


def render_error(error: ServiceError, request: Request, request_id: str) -> Response:
    """Write *error*. All four elements are needed: without one the Python and Node clients fail on the error itself."""
    host = request.headers.get("host", "localhost")
    document = Element(
        "Error",
        children=[
            Element("Code", error.code),
            Element("Message", error.message),
            Element("RequestId", request_id),
            Element("HostId", host if "://" in host else f"http://{host}"),
        ],
    )
    return Response(error.http_status, render(document, NAMESPACE), common_headers(request_id))
