"""JSON: one object for each finding, one per line."""

from collections.abc import Iterator, Sequence

from manners.cli.linting import LintedFile, page_address
from manners.cli.render import as_json


def report(files: Sequence[LintedFile]) -> Iterator[str]:
    """A line for each finding, with its file and the page of its rule."""
    for file in files:
        for finding in file.findings:
            page = {"page": page_address(finding.name)}
            yield as_json({"file": file.name} | finding.to_dict() | page)
