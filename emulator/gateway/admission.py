"""Decisions about a request before its body has come: whether it is accepted, and how long the body may be."""

import asyncio
from typing import Any

from emulator.gateway.entrance import HEALTH, UNKNOWN_RPC, Entrance, name_request
from emulator.gateway.errors import GatewayError, rendered
from emulator.gateway.traffic import AccessLog
from emulator.http.message import FORM_BYTES, Request, Response
from emulator.kernel.clock import Clock
from emulator.kernel.errors import ServiceError
from emulator.kernel.ids import Ids
from emulator.wire.request import EarlyFront, Front, OperationRequest
from emulator.wire.rpc import RpcFront

LARGEST_BODY = 140 * 1024 * 1024
"""Bytes read before the front is known; the front's own limit is checked again after. The largest is a code package."""


class Admission:
    """The part of `emulator.http.message.Application` that judges heads of requests."""

    def __init__(self, entrance: Entrance, *, clock: Clock, ids: Ids, access: AccessLog) -> None:
        self._entrance = entrance
        self._clock = clock
        self._ids = ids
        self._access = access

    def judge(self, request: Request) -> Response | int:
        """Judge a request with a large body before that is read: return a refusal, or the largest body in bytes.

        The caller is authenticated by the head, unless the signature covers the body or the service has unsigned calls.
        A form is never large.
        """
        entrance = self._entrance
        call = OperationRequest(request, self._clock.now())
        front: Front | None = None
        try:
            entrance.guard(call)
            if (not entrance.loaded.done() and request.path != HEALTH) or entrance.edits(request) is not None:
                return LARGEST_BODY if not request.has_form else FORM_BYTES
            try:
                front = entrance.choose(call)
            except GatewayError:
                if not request.has_form:
                    raise
                return FORM_BYTES  # the form may name the service
            if call.scheme is not None and not call.scheme.covers_head(request):
                return front.max_body if not request.has_form else FORM_BYTES
            if call.scheme is None and request.has_form and isinstance(front, RpcFront):
                return FORM_BYTES  # the form may contain the signature
            name_request(front, call)
            entrance.authenticate(front, call, head_only=True)
        except ServiceError as error:
            response = rendered(error, front, call, self._ids)
            self._access.answered(front, call, response)
            return response
        request.admitted = (front, call)
        request.trusted = call.principal is not None and bool(call.principal.access_key_id)
        return front.max_body

    def early(self, request: Request) -> "int | asyncio.Future[Any]":
        """Return the most bytes of body with which a request is served early; 0 when its body has to come whole.

        A body has to come whole if a digest of it is signed, if it is a form, which may name the service, and while a
        recording runs. The head of a small body is judged here first; if it is refused, 0 is returned and `serve`
        answers with the error. A future is returned while the services or edited files are being loaded.
        """
        entrance = self._entrance
        if request.has_form or self._access.records:
            return 0
        if request.admitted is None:
            if not entrance.loaded.done():
                return asyncio.ensure_future(entrance.once_loaded())
            if (edits := entrance.edits(request)) is not None:
                return asyncio.ensure_future(edits)
            request.admitted = self._judged_early(request)
        if request.admitted is None:
            return 0
        front, call = request.admitted
        if not isinstance(front, EarlyFront) or entrance.authenticator.covers_body(request, call.scheme):
            return 0
        return front.early(call)

    def _judged_early(self, request: Request) -> tuple[Front, OperationRequest] | None:
        """Return the front and the call of a request whose front may serve it early, None for every other."""
        entrance = self._entrance
        call = OperationRequest(request, self._clock.now())
        try:
            entrance.guard(call)
            front = entrance.choose(call)
            if not isinstance(front, EarlyFront) or not front.may_be_early(call):
                return None
            name_request(front, call)
            entrance.authenticate(front, call, head_only=True, counted=False)
        except ServiceError:
            return None
        return front, call

    def too_large(self, request: Request, limit: int) -> Response:
        """Return the answer for a body that outgrew *limit* bytes."""
        entrance = self._entrance
        call = OperationRequest(request, self._clock.now())
        front: Front | None = None
        try:
            entrance.guard(call)
            front = entrance.choose(call)
            name_request(front, call)
            error = front.too_large(limit)
        except ServiceError:
            front = entrance.fronts.get(UNKNOWN_RPC) if request.has_form else None
            error = front.too_large(limit) if front is not None else GatewayError("BodyTooLarge", limit=limit)
        response = rendered(error, front, call, self._ids)
        self._access.answered(front, call, response)
        return response
