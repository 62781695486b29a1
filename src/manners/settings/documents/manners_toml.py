"""`manners.toml`: settings by their names, and tables of the linter and the audit's document."""

import tomllib

from manners.errors import SettingsError
from manners.settings.checking import require_table
from manners.settings.documents import Layer, SourcedValue, seconds
from manners.settings.lint_table import TABLE, read_lint
from manners.settings.names import refuse

_AUDIT_TABLES = {
    "concurrencyConfig": {
        "maxConcurrent": "concurrency",
        "keyPrefix": "concurrency_prefix",
        "ttlSeconds": "lease",
    },
    "delayConfig": {
        "minDelayMs": "min_delay",
        "maxDelayMs": "max_delay",
        "keyPrefix": "delay_prefix",
    },
}


def read(data: bytes, source: str) -> Layer:
    """The settings in a TOML file."""
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(source, f"not TOML: {error}") from None
    for name, value in content.items():
        if name == TABLE:  # the linter reads it by itself; a mistake in it is everybody's
            read_lint(value, source)
            continue
        if name not in _AUDIT_TABLES:
            yield name, SourcedValue(value, source)
            continue
        keys = _AUDIT_TABLES[name]
        for key, item in require_table(value, name, source).items():
            if key not in keys:
                refuse(key, keys, source, f" in {name}")
            place = f"{source}: {name}.{key}"
            item = seconds(item, place) if key.endswith("Ms") else item
            yield keys[key], SourcedValue(item, place)
