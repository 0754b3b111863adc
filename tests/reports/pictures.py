"""Whether a picture shows anything."""

from __future__ import annotations

import re
import zlib


def is_blank(content: bytes) -> bool:
    """Whether the pixels of a PNG hardly differ."""
    chunks = (content[at + 4 : at + 4 + int.from_bytes(content[at - 4 : at], "big")] for at in _idat(content))
    return len(set(zlib.decompress(b"".join(chunks)))) <= 100


def _idat(content: bytes) -> list[int]:
    """Where the chunks of pixels have their names."""
    return [match.start() for match in re.finditer(b"IDAT", content)]
