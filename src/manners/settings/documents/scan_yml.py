"""`scan.yml`: the document of an older scanner, read as it is."""

from typing import Any

from manners.errors import MissingExtra, SettingsError
from manners.settings.checking import require_table
from manners.settings.documents import Layer, SourcedValue, seconds
from manners.settings.names import refuse
from manners.settings.systems import SCANNER

_KEYS = {
    "respectRobots": ("respect_robots",),
    "robotsTtlMinutes": ("fresh_minutes",),
    "robotsFailTtlMinutes": ("retry_minutes",),
    "robotsMaxRedirects": ("max_redirects",),
    "robotsTimeoutMs": ("read_timeout", "connect_timeout"),
    "robotsUa": ("agent", "user_agent"),
    "robotsFallbackAllowAll": ("unreachable",),
}
"""The keys of its `crawler` table, and the settings that each sets."""
_MAX_CONNECT = 2.0


def read(data: bytes, source: str) -> Layer:
    """The settings in a scan.yml."""
    yield "like", SourcedValue(SCANNER.like, source)
    for name in _KEYS["robotsUa"]:
        yield name, SourcedValue(SCANNER.agent, source)
    for key, value in _parse(data, source).items():
        match key:
            case "excludePaths":
                yield "exclude", SourcedValue([] if value is None else value, f"{source}: {key}")
            case "crawler":
                yield from _crawler({} if value is None else value, source)
            case _:
                refuse(key, ("crawler", "excludePaths"), source)


def _crawler(content: Any, source: str) -> Layer:
    for key, value in require_table(content, "crawler", source).items():
        if key not in _KEYS:
            refuse(key, _KEYS, source, " in crawler")
        place = f"{source}: crawler.{key}"
        if key == "robotsTimeoutMs":
            value = seconds(value, place)
        elif key == "robotsFallbackAllowAll":
            if not isinstance(value, bool):
                raise SettingsError(place, "true or false is needed")
            value = "allow" if value else "disallow"
        elif key == "robotsUa" and value is None:
            raise SettingsError(place, "the name of an agent is needed")
        for name in _KEYS[key]:
            is_connect = name == "connect_timeout"
            yield name, SourcedValue(min(value, _MAX_CONNECT) if is_connect else value, place)


def _parse(data: bytes, source: str) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("pyyaml", "crawl") from None

    class Loader(yaml.SafeLoader):
        """Plain values only: a few aliases of aliases would fill all memory."""

        def compose_node(self, *place: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not supported")
            return super().compose_node(*place)

    try:
        content = yaml.load(data, Loader)  # noqa: S506 (it is a safe one)
    except Exception as error:  # a value that contradicts its tag can be any error
        raise SettingsError(source, f"not YAML: {error}") from None
    return require_table({} if content is None else content, "the file", source)
