"""GitLab Code Quality: one JSON array, shown in merge requests.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from manners.cli.linting import LintedFile
from manners.cli.render import as_json

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def report(files: Sequence[LintedFile]) -> Iterator[str]:
    """The array, with a fingerprint for each finding that no other finding has."""
    found = []
    for file in files:
        path = file.relative_name
        for finding, print_of_line in zip(file.findings, file.fingerprints(), strict=True):
            unique = f"{path}\0{print_of_line}".encode("utf-8", "surrogateescape")
            found.append(
                {
                    "description": finding.message,
                    "check_name": f"{finding.code} {finding.name}",
                    "fingerprint": sha256(unique).hexdigest(),
                    "severity": _SEVERITIES[finding.severity.value],
                    "location": {"path": path, "lines": {"begin": finding.line}},
                }
            )
    yield as_json(found)
