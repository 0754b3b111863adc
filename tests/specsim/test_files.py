"""A file is there whole or as it was before; never half."""

from __future__ import annotations

import subprocess
import sys

import pytest

from specsim.errors import InputError
from specsim.files import write_whole


def test_parents_are_made_and_bytes_stay_bytes(tmp_path):
    path = write_whole(tmp_path / "a" / "b.bin", b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    """A child whose files may not grow past 1 kB stands for a disk that is full."""
    path = tmp_path / "result.json"
    write_whole(path, "old")
    script = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
        "from specsim.errors import InputError\n"
        "from specsim.files import write_whole\n"
        "try:\n"
        f"    write_whole({str(path)!r}, 'x' * 100_000)\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert child.stdout.startswith(f"cannot write {path}: ")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_in_the_way_is_one_line(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_whole(tmp_path / "taken", "text")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_whole(tmp_path / "file" / "below", "text")
