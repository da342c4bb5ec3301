"""Buckets of the object storage and their objects; without the extra, a page that says how to install it."""

from flask import Blueprint, render_template

from emulator.console.view import PAGE, marker, view
from emulator.oss.errors import OssError

blueprint = Blueprint("buckets", __name__, url_prefix="/buckets")


@blueprint.get("")
def index() -> str:
    """List the buckets."""
    page = view().call(view().objects.buckets, view().tenant, marker(), PAGE)
    return render_template("buckets.html", buckets=page.items, following=page.next_marker)


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show the objects of a bucket."""
    if not view().call(view().objects.has_bucket, view().tenant, name):
        raise OssError("NoSuchBucket", bucket=name)
    rows = view().call(view().objects.listed, view().tenant, name, marker(), PAGE + 1)
    following = rows[PAGE - 1].key if len(rows) > PAGE else None
    return render_template("bucket.html", name=name, objects=rows[:PAGE], following=following)
