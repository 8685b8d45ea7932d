"""Sends the generated operations to a server, with tokens, retries, idempotency keys and batches. Written by hand."""

import asyncio
import base64
import hashlib
import hmac
import inspect
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

import httpx
from pydantic_core import to_json

from .api import (
    OutcomeFields,
    SendAnnouncementInput,
    SendMessageInput,
    SendNotificationInput,
    SendReminderInput,
)
from .api.base_model import UNSET
from .api.operations import Operations
from .error import TidingsError, data_of

#: The inputs that can be sent.
Notification = SendAnnouncementInput | SendReminderInput | SendMessageInput

#: A token, or a function that returns one before each request.
Token = str | Callable[[], str | Awaitable[str]]

# Most notifications and bytes in one request. The server accepts 1,000 notifications and 2 MiB from a service.
CHUNK_LENGTH = 1_000
CHUNK_BYTES = 1_500_000

# Seconds before the first retry. The pause doubles with each further retry, up to the longest.
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0

# Error codes that are retried.
RETRIED = {"RATE_LIMITED", "UNAVAILABLE"}


def sign(secret: str, tenant: str, sub: str, role: str = "service", seconds: float = 300) -> str:
    """Makes a token (RFC 7519, HS256) for a service, or for the user `sub` with the role `user`; valid for `seconds`.

    `secret` is the server's TIDINGS_SECRET; keep it on your servers.
    """

    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    claims = {"tenant": tenant, "sub": sub, "role": role, "exp": int(time.time() + seconds)}
    text = b".".join(part(json.dumps(value).encode()) for value in ({"alg": "HS256", "typ": "JWT"}, claims))
    return (text + b"." + part(hmac.digest(secret.encode(), text, hashlib.sha256))).decode()


class Tidings(Operations):
    """A client of one server, for a backend. Keep one instance and close it in the end (`async with`).

    `url` is the URL of the server's `/graphql`. `token` is a token, or a function (sync or async) that returns one and
    is called before each request: `lambda: sign(secret, "acme", "shop")`.

    Temporary failures (the server is unreachable, busy or starting, or the rate limit is used up) are retried after the
    time that the server names (`Retry-After`), until `patience` seconds after the call; 0 means no retry. One attempt
    takes at most `timeout` seconds. `http` is an `httpx` client of your own, such as one with a proxy; closing this
    client closes it too.

    The client adds an idempotency key to each input that has none. Neither a retry nor another call with the same
    object sends it twice.

    Every operation raises `TidingsError`.
    """

    def __init__(
        self, url: str, token: Token, *, patience: float = 60, timeout: float = 30, http: httpx.AsyncClient | None = None
    ) -> None:
        if httpx.URL(url).scheme not in ("http", "https"):
            raise ValueError(f"not an http(s) URL: {url!r}")
        self._url = url
        self._token = token
        self._patience = patience
        self._timeout = timeout
        self._http = http or httpx.AsyncClient()

    async def __aenter__(self) -> "Tidings":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the HTTP client."""
        await self._http.aclose()

    async def send_many(self, notifications: Iterable[Notification]) -> list[OutcomeFields]:
        """Sends any number of notifications, in this order, and returns the outcome of each.

        Each request has at most 1,000 notifications and is one transaction. If the server refuses one request, the
        notifications before it are sent and those after it are not; `field` of the error counts from the start of the
        whole list (`inputs[1700].message.type`). You can send the same objects again: none is sent twice.
        """
        outcomes: list[OutcomeFields] = []
        for chunk in _chunks(notifications):
            try:
                outcomes += await self.send_notifications(inputs=chunk)
            except TidingsError as error:
                error.shift(len(outcomes))
                raise
        return outcomes

    async def execute(self, query: str, operation_name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Runs one operation and returns its `data`."""
        for one in _sent_by(variables):
            if one.idempotency_key is None:
                one.idempotency_key = uuid.uuid4().hex
        given = {name: value for name, value in variables.items() if value is not UNSET}
        request = {"query": query, "operationName": operation_name, "variables": given}
        body = to_json(request, by_alias=True, exclude_none=True)
        until = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._try(body)
            except TidingsError as error:
                # Jitter, so that clients that wait for the same server do not all retry at once.
                wait = max(error.retry_after or 0, pause) * random.uniform(1, 1.2)
                if error.code not in RETRIED or time.monotonic() + wait > until:
                    raise
            await asyncio.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _try(self, body: bytes) -> dict[str, Any]:
        token = self._token() if callable(self._token) else self._token
        headers = {
            "accept": "application/graphql-response+json, application/json",
            "authorization": f"Bearer {await token if inspect.isawaitable(token) else token}",
            "content-type": "application/json",
        }
        try:
            asked = self._http.post(self._url, content=body, headers=headers, timeout=None)
            answer = await asyncio.wait_for(asked, self._timeout)
        except (httpx.TransportError, asyncio.TimeoutError) as error:
            raise TidingsError(str(error) or type(error).__name__, "UNAVAILABLE") from error
        return data_of(answer)


def _sent_by(variables: dict[str, Any]) -> Iterator[Notification]:
    """The notifications among the variables of an operation."""
    for given in (variables.get("input"), *(variables.get("inputs") or ())):
        one = given
        if isinstance(given, SendNotificationInput):
            one = given.announcement or given.reminder or given.message
        if isinstance(one, (SendAnnouncementInput, SendReminderInput, SendMessageInput)):
            yield one


def _chunks(notifications: Iterable[Notification]) -> Iterator[list[SendNotificationInput]]:
    """Splits the notifications into chunks that fit into one request."""
    chunk: list[SendNotificationInput] = []
    size = 0
    for one in notifications:
        length = len(to_json(one, by_alias=True, exclude_none=True))
        if chunk and (len(chunk) == CHUNK_LENGTH or size + length > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(_wrapped(one))
        size += length
    if chunk:
        yield chunk


def _wrapped(one: Notification) -> SendNotificationInput:
    if isinstance(one, SendAnnouncementInput):
        return SendNotificationInput(announcement=one)
    if isinstance(one, SendReminderInput):
        return SendNotificationInput(reminder=one)
    return SendNotificationInput(message=one)
