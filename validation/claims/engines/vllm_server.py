"""vLLM's server with OpenAI's API as a process of its own on this machine, for as long as it is wanted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from specsim.conformance.sources.http import Client
from specsim.errors import AdapterError

HOST = "127.0.0.1"
START_SECONDS = 600.0
"""It imports for most of a minute on one core, and for longer on a busy one."""
PAUSE_SECONDS = 0.5


@contextmanager
def server(
    model: Path, settings: Mapping[str, Any], *, speculation: Mapping[str, Any] | None, process: Mapping[str, str]
) -> Iterator[Client]:
    """A server that answers; ended on the way out.

    Parameters
    ----------
    model
        Folder of the target.
    settings
        Of the engine, as `LLM` names them.
    speculation
        Its `speculative_config`, if it has one.
    process
        Environment variables.

    Raises
    ------
    AdapterError
        It ended or did not answer in time; the message holds its last words.
    """
    url = f"http://{HOST}:{_free_port()}"
    log = model / "server.log"
    with log.open("w") as words:
        started = subprocess.Popen(
            _command(model, url, settings, speculation),
            env={**os.environ, **process},
            stdout=words,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(started, url, log)
            yield Client(url)
        finally:
            started.terminate()
            started.wait()


def arguments(settings: Mapping[str, Any]) -> list[str]:
    """Settings of `LLM` as options of the server.

    Examples
    --------
    >>> arguments({"dtype": "float32", "enforce_eager": True, "max_logprobs": -1})
    ['--dtype=float32', '--enforce-eager', '--max-logprobs=-1']
    """
    return [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in settings.items()]


def _command(model: Path, url: str, settings: Mapping[str, Any], speculation: Mapping[str, Any] | None) -> list[str]:
    module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    where = [f"--model={model}", f"--host={HOST}", f"--port={url.rpartition(':')[2]}"]
    drafts = [] if speculation is None else [f"--speculative-config={json.dumps(speculation)}"]
    return [*module, *where, *arguments(settings), *drafts]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def _wait(started: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while started.poll() is None and time.monotonic() < end:
        try:
            if httpx.get(f"{url}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass  # not yet
        time.sleep(PAUSE_SECONDS)
    raise AdapterError(f"vLLM's server must answer in {START_SECONDS:g} s, got: {log.read_text()[-300:]}")
