"""`manners dialects`: list the dialects."""

from manners.cli import render
from manners.cli.options import JsonOption
from manners.robots.dialects import DEFAULT, describe, get, names


def command(json: JsonOption = False) -> int:
    """List the dialects and what each does differently from RFC 9309."""
    dialects = [get(name) for name in names()]
    if json:
        for dialect in dialects:
            print(render.as_json(describe(dialect)))
        return 0
    print(render.table(("DIALECT", "WHAT IT IS"), [(d.name, d.summary) for d in dialects]))
    base = describe(get(DEFAULT))
    variants = [fields for fields in map(describe, dialects) if fields != base]
    rows = [
        (field, value, *("" if fields[field] == value else fields[field] for fields in variants))
        for field, value in base.items()
        if field not in ("name", "summary")
    ]
    print()
    print(render.table(("FIELD", DEFAULT, *(fields["name"] for fields in variants)), rows))
    return 0
