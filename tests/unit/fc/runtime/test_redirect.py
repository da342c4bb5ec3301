"""Function code that names only a region talks to the emulator."""

import asyncio
import json

import emulator.redirect
from emulator.services.fc.runtime.model import Credentials


async def record(requests):
    """Listen on a free port, keep each request's head and answer with an empty JSON object."""

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        requests.append(head)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def test_classic_client_in_a_function_reaches_the_emulator(functions):
    """The tutorials' callback function works unchanged: a client from the context's keys, no endpoint."""
    image = functions.image(
        """
        from aliyunsdkcore.auth.credentials import StsTokenCredential
        from aliyunsdkcore.client import AcsClient
        from aliyunsdkfnf.request.v20190315.ReportTaskSucceededRequest import ReportTaskSucceededRequest

        def handler(event, context):
            keys = context.credentials
            credential = StsTokenCredential(keys.access_key_id, keys.access_key_secret, keys.security_token)
            client = AcsClient(region_id=context.region, credential=credential)
            request = ReportTaskSucceededRequest()
            request.set_TaskToken("token-1")
            request.set_Output("{}")
            return client.do_action_with_exception(request)
        """,
        timeout_s=20,
    )
    requests = []
    keys = Credentials(access_key_id="STS.abc", access_key_secret="secret", security_token="CAISxyz")

    server, port = await record(requests)
    async with server:
        result = await functions.invoke(
            image,
            functions.invocation(credentials=keys),
            redirect_hook=emulator.redirect.python_hook(),
            extra_environment=emulator.redirect.hook_environment(port, None, None),
        )

    assert (result.error_type, result.body) == (None, b"{}")
    assert len(requests) == 1
    assert "\r\nHost: cn-hangzhou.fnf.aliyuncs.com" in requests[0]
    assert "STS.abc" in requests[0]


async def test_hook_gives_a_function_the_emulators_authorities(functions, tmp_path):
    """Every TLS client's variable and certifi name the bundle; other names resolve as before."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("an authority")
    image = functions.image(
        """
        import os, socket
        import certifi, requests.certs
        def handler(event, context):
            names = ["ALIBABA_CLOUD_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
            host = "account.cn-hangzhou.fc.aliyuncs.com"
            resolved = [socket.getaddrinfo(host, port)[0][4] for port in (80, "https", 8080)]
            return {
                "variables": [os.environ[name] for name in names],
                "certifi": [certifi.where(), certifi.contents(), requests.certs.where()],
                "resolved": resolved,
                "local": socket.getaddrinfo("127.0.0.1", 80)[0][4],
            }
        """,
    )

    result = await functions.invoke(
        image,
        functions.invocation(),
        redirect_hook=emulator.redirect.python_hook(),
        extra_environment=emulator.redirect.hook_environment(8868, 8869, bundle),
    )

    assert json.loads(result.body) == {
        "variables": [str(bundle)] * 4,
        "certifi": [str(bundle), "an authority", str(bundle)],
        "resolved": [["127.0.0.1", 8868], ["127.0.0.1", 8869], ["127.0.0.1", 8080]],
        "local": ["127.0.0.1", 80],
    }
