"""`specsim report index`: every page that needs no input, and one that links them."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import click

from reports.build import write_page
from reports.cli import report
from reports.cli.options import check_out
from reports.pages.index import page
from reports.pages.index.entries import ENTRIES, Entry
from specsim.cli.output import emit, envelope, json_option
from specsim.errors import SpecsimError


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default="out", show_default=True, help="Folder to write into.")
@json_option
def index(out: Path, as_json: bool) -> int:
    """All pages that need nothing but what the project ships, and index.html with a line and a picture of each.

    Takes a minute or two. Exit code 1 where a page could not be built; the index says why.
    """
    check_out(out, theme="light")
    reasons = {entry.name: _reason(entry, out) for entry in ENTRIES}
    path = write_page(out / "index.html", page(reasons))
    failed = {name: reason for name, reason in reasons.items() if reason}
    built = [out / f"{name}.html" for name, reason in reasons.items() if not reason]
    emit(
        envelope("report index", inputs={}, result={"page": path, "pages": built, "failed": failed}),
        as_json=as_json,
        tables=[
            str(path),
            f"{len(built)} pages linked, to open in a browser.",
            *(f"{name} could not be built: {reason}" for name, reason in failed.items()),
        ],
    )
    return 1 if failed else 0


def _reason(entry: Entry, out: Path) -> str:
    """Build a page by its own subcommand; why it could not be built, or nothing."""
    try:
        command = report.get_command(click.Context(report), entry.name)
        assert command is not None
        with redirect_stdout(io.StringIO()):
            command.main(args=[*entry.arguments, "--out", str(out)], prog_name=entry.name, standalone_mode=False)
    except SpecsimError as error:
        return str(error)
    except click.ClickException as error:
        return error.format_message()
    return ""
