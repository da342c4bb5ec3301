import json


def handler(event, context):
    return json.dumps({"first": json.loads(event or b"null")})
