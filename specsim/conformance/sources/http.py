"""Asking a server: JSON over HTTP to one named host, with retries, and nothing else contacted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from specsim import checks
from specsim.errors import AdapterError, InputError

BUSY = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which the same request may be sent again."""
LONGEST_PAUSE_SECONDS = 30.0


class Client:
    """Posts JSON to a server; safe to use from several threads.

    Parameters
    ----------
    url : str
        Where the API begins, such as `http://127.0.0.1:8000`. Proxies, redirects and environment variables are not
        followed: nothing but this host is contacted.
    timeout_seconds : float
        For one answer [s].
    retries : int
        How often a request is sent again after a busy answer, a broken connection or a cut answer [1].
    pause_seconds : float
        Before the first of these; it doubles each time, up to half a minute. A server's Retry-After counts if it is
        longer, up to the same bound [s].
    headers : mapping
        To send along, such as `Authorization`.
    transport, sleep
        For tests.

    Raises
    ------
    InputError
        A URL without host, or of another scheme.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = 120.0,
        retries: int = 5,
        pause_seconds: float = 0.5,
        headers: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url must be http://HOST or https://HOST, got {url!r}")
        self.url = url.rstrip("/")
        self.retries = checks.integer("retries", retries)
        self.pause_seconds = checks.non_negative("pause_seconds", pause_seconds)
        self._sleep = sleep
        self._http = httpx.Client(
            timeout=checks.positive("timeout_seconds", timeout_seconds),
            headers=dict(headers or {}),
            follow_redirects=False,
            trust_env=False,
            transport=transport,
            limits=httpx.Limits(max_connections=None),
        )

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers with.

        Raises
        ------
        AdapterError
            The server refused, redirected, answered no JSON object, or was still busy or broken after the last retry.
        """
        pause, problem = self.pause_seconds, ""
        for attempt in range(self.retries + 1):
            if attempt:
                self._sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                answer = self._http.post(self.url + path, json=dict(body))
            except httpx.TransportError as error:  # no connection, time over, an answer cut in the middle
                problem = f"{type(error).__name__}: {error}".rstrip(": ")
                continue
            if answer.status_code not in BUSY:
                return _object(self.url + path, answer)
            problem = f"HTTP {answer.status_code}"
            pause = max(pause, _retry_after(answer))
        raise AdapterError(f"{self.url}{path} gave no answer in {self.retries + 1} attempts, the last: {problem}")


def _object(where: str, answer: httpx.Response) -> dict[str, Any]:
    if answer.is_redirect:
        raise AdapterError(f"{where} redirects to {answer.headers.get('location')!r}; no other place is contacted")
    if not answer.is_success:
        raise AdapterError(f"{where} answered HTTP {answer.status_code}: {' '.join(answer.text.split())[:200]}")
    try:
        body = answer.json()
    except ValueError:
        raise AdapterError(f"{where} must answer JSON, got {answer.text[:80]!r}") from None
    if not isinstance(body, dict):
        raise AdapterError(f"{where} must answer a JSON object, got {str(body)[:80]}")
    return body


def _retry_after(answer: httpx.Response) -> float:
    try:
        return min(float(answer.headers.get("retry-after", 0)), LONGEST_PAUSE_SECONDS)
    except ValueError:  # a date; our own pause will do
        return 0.0
