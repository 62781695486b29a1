"""`manners settings`: the settings in force, and where each came from."""

from manners.cli import inputs, render
from manners.cli.options import ConfigOption, JsonOption


def command(config: ConfigOption = None, json: JsonOption = False) -> int:
    """Show the settings in force, and where each came from.

    The order: options, MANNERS_… variables, the file, the defaults.
    """
    from manners.settings import load

    settings, sources = load(config, warn=inputs.warn)
    values = settings.shown()
    for name, other in (("agent", "user_agent"), ("user_agent", "agent")):
        if values[name] is None:  # show the effective value
            values[name] = getattr(settings.identity, name)
            is_named = getattr(settings, other) is not None
            sources[name] = f"as {other}" if is_named else "default"
    if json:
        for name, value in values.items():
            print(render.as_json({"name": name, "value": value, "from": sources[name]}))
    else:
        rows = [(name, _shown(value), sources[name]) for name, value in values.items()]
        print(render.table(("SETTING", "VALUE", "FROM"), rows))
    return 0


def _shown(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else render.as_json(value)
