"""The exception for failed operations."""

import re
from typing import Any

import httpx

# The error code for an HTTP status if the response is not from Tidings, such as one from a proxy.
CODES = {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 413: "BAD_USER_INPUT", 429: "RATE_LIMITED"}
CODES |= dict.fromkeys((502, 503, 504), "UNAVAILABLE")


class TidingsError(Exception):
    """An operation failed.

    `code` is one of the schema's `ErrorCode`: also `UNAVAILABLE` if no response came, and `INTERNAL` if the response is
    not from Tidings and its status maps to no other code. `field` names the wrong argument, such as
    `inputs[3].message.type`, and `limit` the exceeded limit, if any. `retry_after` is in seconds. `request_id` finds
    the request in the server's log.
    """

    def __init__(
        self,
        message: str,
        code: str,
        *,
        field: str | None = None,
        limit: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field
        self.limit = limit
        self.retry_after = retry_after
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def shift(self, count: int) -> None:
        """Adds `count` to the index of an `inputs` entry in `field`: the request was one chunk of a longer list."""
        if self.field is not None:
            self.field = re.sub(r"^inputs\[(\d+)]", lambda at: f"inputs[{int(at[1]) + count}]", self.field)


def data_of(answer: httpx.Response) -> dict[str, Any]:
    """The data of a response; raises its first error, if any."""
    told = _told(answer)
    errors = told.get("errors")
    if not errors and isinstance(data := told.get("data"), dict):
        return data
    error = errors[0] if errors else {}
    extensions = error.get("extensions") or {}
    seconds = extensions.get("retryAfter") or answer.headers.get("retry-after", "")
    raise TidingsError(
        error.get("message") or f"HTTP {answer.status_code}",
        extensions.get("code") or CODES.get(answer.status_code, "INTERNAL"),
        field=extensions.get("field"),
        limit=extensions.get("limit"),
        # HTTP also allows a date here; the client ignores dates.
        retry_after=float(seconds) if re.fullmatch(r"\d+(\.\d+)?", str(seconds)) else None,
        request_id=answer.headers.get("x-request-id"),
    )


def _told(answer: httpx.Response) -> dict[str, Any]:
    try:
        told = answer.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
