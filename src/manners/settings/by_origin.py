"""Settings by origin: logins and client certificates. No message has a secret."""

from collections.abc import Mapping
from typing import Any

from manners._secrets import HIDDEN, without_secrets
from manners.errors import InvalidURL, SettingsError
from manners.settings.checking import require_table
from manners.urls import origin


def parse_by_origin(name: str, value: Any) -> dict[str, str]:
    """The texts of a setting, by origin as URLs have it.

    >>> parse_by_origin("logins", {"https://Shop.example:443/": "me:secret"})
    {'https://shop.example': 'me:secret'}
    """
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        value = dict(value)
    for written, text in require_table(value, "the value", name).items():
        shown = without_secrets(str(written)[:200])
        try:
            place = origin(str(written))
        except InvalidURL as error:
            raise SettingsError(
                name, f"{shown!r}: {error.problem}; name an origin, such as https://shop.example"
            ) from None
        if place in found:
            raise SettingsError(name, f"{shown!r} is there twice")
        if not isinstance(text, str):
            raise SettingsError(name, f"{shown!r}: text is needed")
        if name == "logins" and text.find(":") < 1:
            raise SettingsError(name, f"{shown!r}: name:password is needed")
        found[place] = text
    return found


def hidden_logins(logins: Mapping[str, str]) -> dict[str, str]:
    """Logins without names and passwords, so that they may be shown.

    >>> hidden_logins({"https://shop.example": "me:secret"})
    {'https://shop.example': '***'}
    """
    return dict.fromkeys(logins, HIDDEN)
