"""`manners settings`: what is in force, and where each value came from."""

from manners.cli import inputs, render
from manners.urls import without_credentials


def command(config: inputs.ConfigOption = None, json: inputs.JsonOption = False) -> int:
    """Show the settings in force, and where each came from.

    Options come first, then MANNERS_… in the environment, then the names of older documents, then
    the file, then the defaults.
    """
    from manners.settings import load

    settings, sources = load(config)
    values = {name: _safe(value) for name, value in settings.to_dict().items()}
    if json:
        for name, value in values.items():
            print(render.as_json({"name": name, "value": value, "from": sources[name]}))
    else:
        rows = [(name, _shown(value), sources[name]) for name, value in values.items()]
        print(render.table(("SETTING", "VALUE", "FROM"), rows))
    return 0


def _safe(value: object) -> object:
    """A value without the password that the address of a store or a proxy may have."""
    return without_credentials(value) if isinstance(value, str) and "://" in value else value


def _shown(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else render.as_json(value)
