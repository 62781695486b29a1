"""`manners dialects`: the ways to read a robots.txt."""

from manners.cli import inputs, render
from manners.robots.dialects import DEFAULT, describe, get, names


def command(json: inputs.JsonOption = False) -> int:
    """List the dialects and what each does differently from RFC 9309."""
    dialects = [get(name) for name in names()]
    if json:
        for dialect in dialects:
            print(render.as_json(describe(dialect)))
        return 0
    print(render.table(("DIALECT", "WHAT IT IS"), [(each.name, each.summary) for each in dialects]))
    base = describe(get(DEFAULT))
    others = [each for each in map(describe, dialects) if each != base]
    rows = [
        (field, value, *("" if other[field] == value else other[field] for other in others))
        for field, value in base.items()
        if field not in ("name", "summary")
    ]
    print()
    print(render.table(("FIELD", DEFAULT, *(other["name"] for other in others)), rows))
    return 0
