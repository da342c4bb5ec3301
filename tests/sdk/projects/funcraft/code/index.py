import json


def handler(event, context):
    return json.dumps({"said": "first", "to": event.decode()})


def web(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello from the web"]
