"""Seed 003, WWW::RobotRules: records of the 1994 standard, in dialect `robotrules`."""

import pytest

import manners

URL = "http://some.place/robots.txt"


def read(body: str, url: str | None = URL) -> manners.Robots:
    return manners.parse(body, dialect="robotrules", url=url)


INFINITE_SPACE = """\
User-agent: *
Disallow: /cyberworld/map/ # This is an infinite virtual URL space
Disallow: /tmp/ # these will soon disappear
"""

CYBERMAPPER = """\
User-agent: *
Disallow: /cyberworld/map/ # This is an infinite virtual URL space

# Cybermapper knows where to go.
User-agent: cybermapper
Disallow:
"""

GO_AWAY = """\
# go away
User-agent: *
Disallow: /
"""

ANCIENT_CASTLE = """\
# robots.txt for ancientcastle.example.com
# I've locked myself away.
User-agent: *
Disallow: /
# The castle is your home now, so you can go anywhere you like.
User-agent: Belle
Disallow: /west-wing/ # except the west wing!
# It's good to be the Prince...
User-agent: Beast
Disallow:
"""


@pytest.mark.parametrize("agent", ["MOMspider/1.0", "cybermapper", "anyone at all"])
@pytest.mark.parametrize(
    ("path", "allowed", "line"),
    [
        ("/cyberworld/map/", False, 2),
        ("/cyberworld/map/index.html", False, 2),
        ("/tmp/", False, 3),
        ("/tmp/file", False, 3),
        ("/cyberworld/map", True, 0),
        ("/tmp", True, 0),
        ("/", True, 0),
        ("/Tmp/file", True, 0),
    ],
)
def test_example_1_no_robot_visits_two_places(
    agent: str, path: str, allowed: bool, line: int
) -> None:
    """No robot visits a URL that starts with `/cyberworld/map/` or `/tmp/`."""
    verdict = read(INFINITE_SPACE).check(f"http://some.place{path}", agent=agent)
    assert (verdict.allowed, verdict.line) == (allowed, line)


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("MOMspider/1.0", "/cyberworld/map/x", False),
        ("MOMspider/1.0", "/other", True),
        ("cybermapper", "/cyberworld/map/x", True),
        ("CyberMapper/2.0 (Linux)", "/cyberworld/map/x", True),
        ("cybermapper", "/other", True),
    ],
)
def test_example_2_all_but_cybermapper(agent: str, path: str, allowed: bool) -> None:
    """The robot called cybermapper goes where no other may."""
    assert read(CYBERMAPPER).allowed(f"http://some.place{path}", agent=agent) is allowed


@pytest.mark.parametrize("path", ["", "/", "/index.html", "/a/b?c=d"])
def test_example_3_no_robot_visits_further(path: str) -> None:
    """`Disallow: /` closes the whole site."""
    assert not read(GO_AWAY).allowed(f"http://some.place{path}", agent="MOMspider/1.0")


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("Gaston", "/", False),
        ("Gaston", "/west-wing/rose", False),
        ("Belle", "/", True),
        ("Belle", "/library", True),
        ("Belle", "/west-wing/", False),
        ("Belle", "/west-wing/rose", False),
        ("Belle/1.0", "/west-wing/rose", False),
        ("Beast", "/", True),
        ("Beast", "/west-wing/rose", True),
        ("beast", "/west-wing/rose", True),
    ],
)
def test_example_4_the_ancient_castle(agent: str, path: str, allowed: bool) -> None:
    """A malformed file without blank lines is read as its author intended."""
    robots = read(ANCIENT_CASTLE, "http://ancientcastle.example.com/robots.txt")
    assert robots.allowed(f"http://ancientcastle.example.com{path}", agent=agent) is allowed


def test_example_4_is_broken_into_three_records() -> None:
    """Each User-agent after a Disallow starts a record of its own."""
    groups = [(tuple(group.agents), group.line) for group in read(ANCIENT_CASTLE).groups]
    assert groups == [(("*",), 3), (("Belle",), 6), (("Beast",), 9)]


@pytest.mark.parametrize("field", ["User-Agent", "user-agent", "USER-AGENT", "User-agent"])
def test_field_names_ignore_case(field: str) -> None:
    """A field name is case insensitive."""
    assert not read(f"{field}: *\nDISALLOW: /a\n").allowed("/a", agent="MOMspider")


def test_a_record_may_describe_several_robots() -> None:
    """Several User-Agent fields in a record give each robot the same policy."""
    robots = read("User-agent: One\nUser-agent: Two\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n")
    for agent in ("One", "Two"):
        assert not robots.allowed("/a", agent=agent)
        assert robots.allowed("/b", agent=agent)
    assert robots.allowed("/a", agent="Three")
    assert not robots.allowed("/b", agent="Three")


@pytest.mark.parametrize(
    ("field", "agent", "applies"),
    [
        ("MOMspider", "MOMspider/1.0", True),
        ("momspider", "MOMspider/1.0", True),
        ("spider", "MOMspider/1.0", True),
        ("MOM", "MOMspider/1.0", True),
        ("MOMspider/1.0", "MOMspider/1.0", False),
        ("MOMspider2", "MOMspider/1.0", False),
        ("Linux", "MOMspider (Linux)", False),
    ],
)
def test_a_record_applies_when_its_name_is_part_of_ours(
    field: str, agent: str, applies: bool
) -> None:
    """Our name is the first word up to a slash; a record names us by any part of it."""
    robots = read(f"User-agent: {field}\nDisallow: /\n")
    assert robots.allowed("/", agent=agent) is not applies


def test_only_the_first_record_for_us_counts() -> None:
    """A second record that names us is not read."""
    robots = read("User-agent: MOM\nDisallow: /a\n\nUser-agent: MOMspider\nDisallow: /b\n")
    assert not robots.allowed("/a", agent="MOMspider")
    assert robots.allowed("/b", agent="MOMspider")


def test_default_records_accumulate() -> None:
    """All `*` records count together, and none does once a record names us."""
    robots = read(
        "User-agent: *\nDisallow: /a\n\nUser-agent: MOMspider\nDisallow: /b\n\n"
        "User-agent: *\nDisallow: /c\n"
    )
    paths = ("/a", "/b", "/c")
    assert [robots.allowed(path, agent="Wubble") for path in paths] == [False, True, False]
    assert [robots.allowed(path, agent="MOMspider") for path in paths] == [True, False, True]


def test_a_blank_line_ends_a_record() -> None:
    """A Disallow after a blank line belongs to no record, one after a comment line does."""
    robots = read(
        "User-agent: *\nDisallow: /a\n# still the same record\nDisallow: /b\n\nDisallow: /c\n"
    )
    allowed = [robots.allowed(path, agent="MOMspider") for path in ("/a", "/b", "/c")]
    assert allowed == [False, False, True]


def test_disallow_before_any_user_agent_means_everyone() -> None:
    """A file that begins with a Disallow is read as if `User-agent: *` stood before it."""
    assert not read("Disallow: /a\n").allowed("/a", agent="MOMspider")


def test_rules_are_taken_in_file_order() -> None:
    """An empty Disallow allows everything that no earlier line closed."""
    robots = read("User-agent: *\nDisallow: /a\nDisallow:\nDisallow: /b\n")
    assert not robots.allowed("/a", agent="MOMspider")
    assert robots.allowed("/b", agent="MOMspider")


def test_the_first_matching_line_decides() -> None:
    """Of two lines that match, the verdict names the earlier, however short."""
    robots = read("User-agent: *\nDisallow: /a\nDisallow: /a/longer\n")
    assert robots.check("/a/longer", agent="MOMspider").line == 2


@pytest.mark.parametrize(
    "field", ["Allow: /", "Crawl-delay: 10", "Visit-time: 0100-0200", "Foo: /"]
)
def test_unrecognized_fields_are_ignored(field: str) -> None:
    """Only User-Agent and Disallow decide; an Allow opens nothing."""
    robots = read(f"User-agent: *\n{field}\nDisallow: /a\n{field}\n")
    assert not robots.allowed("/a", agent="MOMspider")
    assert robots.allowed("/b", agent="MOMspider")


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/*.pdf", "/file.pdf", False),
        ("/a$", "/a", False),
        ("/a", "/a?x=1", True),
        ("/a?x", "/a?x=1", True),
        ("/a?x", "/a", False),
    ],
)
def test_a_rule_is_a_prefix(rule: str, path: str, matches: bool) -> None:
    """Any URL that starts with the value is closed, and no character of it is special."""
    assert (
        read(f"User-agent: *\nDisallow: {rule}\n").allowed(path, agent="MOMspider") is not matches
    )


@pytest.mark.parametrize(
    ("rule", "closed"),
    [
        ("http://some.place/a", True),
        ("http://some.place:80/a", True),
        ("HTTP://Some.Place/a", True),
        ("http://some.place", True),
        ("https://some.place/a", False),
        ("http://some.other.place/a", False),
        ("http://some.place:8080/a", False),
    ],
)
def test_a_rule_may_be_an_absolute_url(rule: str, closed: bool) -> None:
    """An absolute URL is a rule for its own scheme, host and port only."""
    robots = read(f"User-agent: *\nDisallow: {rule}\n")
    assert robots.allowed("http://some.place/a/page", agent="MOMspider") is not closed
