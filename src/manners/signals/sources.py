"""The sources of a page that signals stand in, as values that a record holds and replay reads.

They are the headers and elements that readers look at, and the files that were asked for.
robots.txt has a snapshot of its own. Nothing else of the page is kept.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from manners._text import without_surrogates
from manners.signals.markup import PageElement
from manners.signals.material import Material

HEADERS = frozenset(
    (
        *("content-usage", "content-signal", "x-robots-tag", "robots-tag", "tdm-reservation"),
        *("tdm-policy", "link", "crawler-price", "www-authenticate"),
    )
)
"""The headers that readers look at."""
META_NAMES = frozenset(("robots", "content-signal", "tdm-reservation", "tdm-policy"))
"""The names of meta elements that readers look at, besides those of the agent."""
FILES = {"tdmrep": "tdmrep", "trust_txt": "trustTxt", "ai_txt": "aiTxt"}
"""Files beside robots.txt, and what a record calls them."""
MAX_SOURCES = 65_536
"""Characters of the sources of one page that a record has; by more, it cannot be replayed."""


def packed(material: Material) -> dict[str, Any]:
    """The sources of a page as plain values; only that they are too large, if they are.

    >>> page = Material(url="/a", headers=(("X-Robots-Tag", "noai"), ("Date", "x")), licences={})
    >>> packed(page)
    {'headers': [['x-robots-tag', 'noai']]}
    """
    values: dict[str, Any] = {}
    headers = [
        [written.strip().lower(), without_surrogates(value)]
        for written, value in material.headers
        if written.strip().lower() in HEADERS
    ]
    if headers:
        values["headers"] = headers
    names = META_NAMES | material.tokens
    elements = [
        _written_element(element)
        for element in material.elements
        if element.name != "meta" or element.attributes["name"].strip().lower() in names
    ]
    if elements:
        values["elements"] = elements
    if values and material.media_type:
        values["media"] = without_surrogates(material.media_type)
    if material.now is not None and values:
        values["at"] = material.now.isoformat()
    for name, recorded in FILES.items():
        body = getattr(material, name)
        if body is not None:
            values[recorded] = _written(body)
    if material.licences:
        values["licences"] = {url: _written(body) for url, body in material.licences.items()}
    if len(json.dumps(values, ensure_ascii=False)) > MAX_SOURCES:
        return {"tooLarge": True}
    return values


def unpacked(sources: Mapping[str, Any], material: Material) -> Material:
    """The material with recorded sources instead of its own; ValueError if they are not on record.

    Sources that were too large stay as they are: then `material` has to have them.
    """
    if sources.get("tooLarge"):
        return material
    at = sources.get("at")
    return replace(
        material,
        headers=tuple((name, value) for name, value in sources.get("headers", ())),
        html=tuple(PageElement(*element) for element in sources.get("elements", ())),
        licences={url: _body(value) for url, value in sources.get("licences", {}).items()},
        media=sources.get("media"),
        now=None if at is None else datetime.fromisoformat(at),
        tdmrep=_file(sources, "tdmrep"),
        trust_txt=_file(sources, "trust_txt"),
        ai_txt=_file(sources, "ai_txt"),
    )


def _file(sources: Mapping[str, Any], name: str) -> bytes | None:
    recorded = FILES[name]
    return _body(sources[recorded]) if recorded in sources else None


def _written(body: bytes | str) -> Any:
    """A file as text, or in base64 where it is not UTF-8."""
    if isinstance(body, bytes):
        try:
            return body.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(body).decode()}
    return without_surrogates(body)


def _body(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    try:
        return base64.b64decode(value["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"invalid base64: {error}") from None


def _written_element(element: PageElement) -> list[Any]:
    """The fields of an element, in their order."""
    clean = without_surrogates
    attributes = {clean(name): clean(value) for name, value in element.attributes.items()}
    content, text = clean(element.content), clean(element.text)
    return [element.name, attributes, element.is_in_head, content, text]
