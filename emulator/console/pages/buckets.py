"""Buckets of the object storage and what is in them; without the extra there is a page that says how to get it."""

from flask import Blueprint, render_template

from emulator.console.pages.shared import marker, paged, view
from emulator.console.view import PAGE, Row
from emulator.wire.dates import iso_millis

blueprint = Blueprint("buckets", __name__, url_prefix="/buckets")


@blueprint.get("")
def index() -> str:
    """List the buckets."""
    rows, following = paged(view().call(_buckets))
    return render_template("buckets.html", buckets=rows, following=following)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show the objects of a bucket."""
    rows = view().call(_objects, name, marker())
    following = rows[PAGE - 1]["key"] if len(rows) > PAGE else None
    return render_template("bucket.html", name=name, objects=rows[:PAGE], following=following)


def _buckets() -> list[Row]:
    return [
        {"name": each.name, "acl": each.acl, "region": each.region, "created_at": iso_millis(each.created_at)}
        for each in view().objects.buckets(view().tenant)
    ]


def _objects(bucket: str, after: str) -> list[Row]:
    return [
        {"key": each.key, "size": each.size, "kind": each.kind, "etag": each.etag, "at": iso_millis(each.modified_at)}
        for each in view().objects.listed(view().tenant, bucket, after, PAGE + 1)
    ]
