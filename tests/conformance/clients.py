"""Which client sent a request, by what it says of itself."""

import re

CLIENTS = (
    ("aliyun CLI", "", r"Aliyun-CLI"),
    ("Terraform", "", r"Terraform"),
    ("Python aliyun-fc2", "", r"^aliyun-fc-sdk-v"),
    ("Python aliyun-mns-sdk", "mns", r"^aliyun-sdk-python/"),
    ("Python oss2", "oss", r"^aliyun-sdk-python/"),
    ("Python alibabacloud_*", "", r"Python/\S+ .*TeaDSL"),
    ("Python aliyun-python-sdk-*", "", r"Python/\S+ Core/"),
    ("Node.js @alicloud/fc2", "", r"@alicloud/fc2"),
    ("Node.js @alicloud/mns", "mns", r"Node\.js|aliyun-mns-nodejs"),
    ("Node.js ali-oss", "oss", r"aliyun-sdk-nodejs|Node\.js"),
    ("Node.js @alicloud/* (models)", "", r"Node\.js/\S+ .*TeaDSL"),
    ("Node.js @alicloud/pop-core", "", r"Node\.js/\S+ Core/"),
    ("Go alibabacloud-go/*", "", r"Golang/\S+ .*TeaDSL"),
    ("Go alibaba-cloud-sdk-go", "", r"Golang/\S+ Core/"),
    ("Go fc-go-sdk", "fc", r"go-sdk"),
    ("Go aliyun-mns-go-sdk", "mns", r"go-sdk"),
    ("Java com.aliyun:* (models)", "", r"Java/\S+ .*(?:TeaDSL|tea-util)"),
    ("Java aliyun-java-sdk-*", "", r"Java/\S+"),
    ("PHP aliyun-mns-php-sdk", "mns", r"[Pp][Hh][Pp]"),
)
"""Name, service where the text alone does not tell, pattern of the User-Agent; the first that fits counts."""


def client_of(service: str, agent: str) -> str:
    """Return the name of the client, empty for what is no official client."""
    for name, only, pattern in CLIENTS:
        if only in ("", service) and re.search(pattern, agent):
            return name
    return ""
