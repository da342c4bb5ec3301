"""`oss2` at the cloud's own addresses; `python objects.py [SCHEME AUTH BUCKET]...` prints what came back, a line each.

No endpoint of an emulator is named, and bucket names stand in host names, as they do in the cloud.
"""

import json
import os
import sys
import urllib.request

import oss2

REGION = os.environ["REGION"]


def told(scheme, auth, name):
    keys = os.environ["AK_ID"], os.environ["AK_SECRET"]
    signer = {"v1": oss2.Auth, "v2": oss2.AuthV2, "v4": oss2.AuthV4}[auth](*keys)
    endpoint = f"{scheme}://oss-{REGION}.aliyuncs.com"
    bucket = oss2.Bucket(signer, endpoint, name, region=REGION)
    bucket.create_bucket()
    bucket.put_object("a b/é", b"at home", headers={"x-oss-meta-k": "v"})
    upload = bucket.init_multipart_upload("m").upload_id
    part = bucket.upload_part("m", upload, 1, b"part")
    bucket.complete_multipart_upload("m", upload, [oss2.models.PartInfo(1, part.etag)], headers=None)
    url = bucket.sign_url("GET", "a b/é", 60, slash_safe=True)
    with urllib.request.urlopen(url) as answer:
        by_url = answer.read().decode()
    buckets = [each.name for each in oss2.BucketIterator(oss2.Service(signer, endpoint, region=REGION), prefix=name)]
    return {
        "host": url.split("/")[2],
        "content": bucket.get_object("a b/é").read().decode(),
        "by url": by_url,
        "keys": [each.key for each in bucket.list_objects().object_list],
        "buckets": buckets,
        "location": bucket.get_bucket_location().location,
    }


if __name__ == "__main__":
    words = iter(sys.argv[1:])
    for each in zip(words, words, words, strict=True):
        print(json.dumps(told(*each)))
