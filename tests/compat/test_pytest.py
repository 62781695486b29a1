"""The pytest plug-in: which files it takes, what a failure shows, what a mistake is told.

pytest is run as its users run it, in a process of its own. It is told to load the plug-in, because
the entry point is there only after an installation.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from manners import testing
from manners.compat import pytest as plugin

ROBOTS = """\
User-agent: GPTBot
User-agent: CCBot
Disallow: /private/

User-agent: *
Allow: /
"""

TESTS = """\
robots = "public/robots.txt"

[[test]]
agent = ["GPTBot", "CCBot"]
url = ["https://example.com/private/", "/private/"]
expect = "disallowed"

[[test]]
agent = "ClaudeBot"
url = "https://example.com/private/"
expect = "allowed"
"""

IDS = [
    "GPTBot https://example.com/private/ disallowed",
    "GPTBot /private/ disallowed",
    "CCBot https://example.com/private/ disallowed",
    "CCBot /private/ disallowed",
    "ClaudeBot https://example.com/private/ allowed",
]


class Site:
    """The folder of somebody's site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = 0

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def pytest(self, *arguments: str, load: bool = True, **environment: str) -> str:
        """What pytest prints, with no plug-in but those that are named."""
        variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
        for name in ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
            variables.pop(name, None)
        if not variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]:
            del variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        ours = ["-p", "manners.compat.pytest"] if load else []
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-W", "error", *ours, *arguments],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        self.code = ran.returncode
        return ran.stdout

    def collected(self, *arguments: str, load: bool = True) -> list[str]:
        printed = self.pytest("--collect-only", "-q", *arguments, load=load)
        return [line for line in printed.splitlines() if "::" in line]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site with a robots.txt and its tests."""
    site = Site(tmp_path)
    site.write("public/robots.txt", ROBOTS)
    site.write("robots_tests.toml", TESTS)
    return site


def test_every_agent_and_url_is_a_test_with_a_readable_name(site: Site) -> None:
    """The lists of a test are taken each with each."""
    assert site.collected() == [f"robots_tests.toml::{name}" for name in IDS]
    printed = site.pytest("-v")
    assert (site.code, printed.count("PASSED")) == (0, 5), printed
    assert all(f"robots_tests.toml::{name} PASSED" in printed for name in IDS)


def test_one_test_can_be_chosen(site: Site) -> None:
    """By its whole name, and by a part of it."""
    assert "1 passed" in site.pytest(f"robots_tests.toml::{IDS[2]}")
    assert "4 passed, 1 deselected" in site.pytest("-k", "not ClaudeBot")


def test_a_failure_is_the_line_that_decided_and_no_traceback(site: Site) -> None:
    """What is printed under the heading is the message, and nothing else."""
    site.write("public/robots.txt", ROBOTS.replace("/private/", "/privat/"))
    printed = site.pytest("-q", f"robots_tests.toml::{IDS[0]}")
    assert site.code == 1
    heading = f" test 1: {IDS[0]} ".center(80, "_")
    _, _, below = printed.partition(f"{heading}\n")
    assert below.partition("\n=")[0].split("\n") == [
        "https://example.com/private/ is allowed for GPTBot, expected disallowed",
        "  public/robots.txt: no rule for this agent matches, so the URL is allowed",
        "  in the group User-agent: GPTBot, CCBot (line 1)",
        "  expected by robots_tests.toml:3: test 1",
    ]
    site.write("public/robots.txt", "User-agent: *\nDisallow: /  # closed\n")
    printed = site.pytest("-q")
    assert "1 failed, 4 passed" in printed
    assert (
        "https://example.com/private/ is disallowed for ClaudeBot, expected allowed\n"
        "  public/robots.txt:2: Disallow: /  # closed\n"
        "  in the group User-agent: * (line 1)\n"
        "  expected by robots_tests.toml:8: test 2\n"
    ) in printed


def test_the_dialect_of_the_file_counts(site: Site) -> None:
    """Google takes `disallowed:` for a Disallow; RFC 9309 does not."""
    site.write("public/robots.txt", "User-agent: GPTBot\nDisallowed: /private/\n")
    test = '[[test]]\nagent = "GPTBot"\nurl = "/private/"\nexpect = "disallowed"\n'
    site.write("robots_tests.toml", f'robots = "public/robots.txt"\ndialect = "google"\n{test}')
    assert "1 passed" in site.pytest()
    site.write("robots_tests.toml", f'robots = "public/robots.txt"\n{test}')
    assert "1 failed" in site.pytest()


def test_another_error_in_a_test_is_shown_as_pytest_shows_it(site: Site) -> None:
    """Only a failed expectation is shown without its traceback."""
    site.write(
        "conftest.py", "def pytest_runtest_call(item):\n    raise RuntimeError('elsewhere')\n"
    )
    printed = site.pytest()
    assert "conftest.py:2: RuntimeError" in printed
    assert "5 failed" in printed


def test_the_names_of_our_files_are_few(site: Site) -> None:
    """Three ways to name a file, in any folder; a robots.txt is found from there."""
    tests = TESTS.replace("public/", "../public/")
    for name in ("shop_robots_tests.toml", "robots_tests_shop.toml"):
        site.write(f"checks/{name}", tests)
    for name in ("robots.toml", "robots_test.toml", "Robots_Tests.toml", "myrobots_tests.toml"):
        site.write(f"checks/{name}", "not = toml =")
    files = {line.partition("::")[0] for line in site.collected()}
    assert {file.replace(os.sep, "/") for file in files} == {
        "robots_tests.toml",
        "checks/robots_tests_shop.toml",
        "checks/shop_robots_tests.toml",
    }


def test_a_path_in_a_message_is_from_the_root_of_the_project(site: Site) -> None:
    """A file outside of it is shown with its whole path."""
    site.write("checks/pytest.ini", "[pytest]\n")
    site.write("checks/robots_tests.toml", TESTS.replace("public/", "../public/"))
    site.write("public/robots.txt", "User-agent: *\nDisallow: /\n")
    inside = site.pytest("-q", "--rootdir", ".", "checks")
    assert f"  {Path('public', 'robots.txt')}:2: Disallow: /" in inside
    assert f"expected by {Path('checks', 'robots_tests.toml')}:8: test 2" in inside
    outside = site.pytest("-q", "checks")
    assert f"  {site.folder / 'public' / 'robots.txt'}:2: Disallow: /" in outside


def test_a_project_without_such_files_is_left_alone(tmp_path: Path) -> None:
    """With the plug-in and without, pytest finds the same tests and prints the same."""
    site = Site(tmp_path)
    site.write("robots.txt", ROBOTS)
    site.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    site.write("test_a.py", "def test_a():\n    pass\n")
    with_us, without = (site.collected(load=load) for load in (True, False))
    assert with_us == without == ["test_a.py::test_a"]
    with_us, without = (
        re.sub(r"in [\d.]+s", "", site.pytest("-v", "--doctest-glob=*.txt", load=load)).split("\n")
        for load in (True, False)
    )
    assert with_us == without


def test_workers_share_the_tests(site: Site) -> None:
    """Under pytest-xdist every worker finds the same tests, and messages arrive."""
    site.write("public/robots.txt", "User-agent: *\nDisallow: /\n")
    printed = site.pytest("-p", "xdist", "-n", "2", "-q")
    assert "1 failed, 4 passed" in printed
    assert "  public/robots.txt:2: Disallow: /\n" in printed
    site.write("robots_tests.toml", "robots = 3")
    printed = site.pytest("-p", "xdist", "-n", "2", "-q")
    assert "robots_tests.toml: no tests; add [[test]]" in printed
    assert "Traceback" not in printed


def test_reports_for_machines_have_the_message(site: Site) -> None:
    """JUnit's XML, which many CI services show, has name and message."""
    site.write("public/robots.txt", "User-agent: *\nDisallow: /\n")
    site.pytest("--junitxml=report.xml")
    report = (site.folder / "report.xml").read_text("utf-8")
    assert 'name="ClaudeBot https://example.com/private/ allowed"' in report
    assert "public/robots.txt:2: Disallow: /" in report


def test_text_from_the_files_cannot_reach_the_terminal(site: Site) -> None:
    """In names of tests as in messages, controls are escaped."""
    site.write("public/robots.txt", "User-agent: *\nDisallow: /\x1b[2J\n")
    site.write(
        "robots_tests.toml",
        'robots = "public/robots.txt"\n[[test]]\n'
        'agent = "my\\u001b[2J"\nurl = "/\\u001b[2J"\nexpect = "allowed"\n',
    )
    printed = site.pytest("-v")
    assert "\x1b" not in printed
    assert "1 failed" in printed


# Loaded, and loaded twice.


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the entry point that an installation makes."""
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "site_manners-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-manners\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pytest11]\nmanners = manners.compat.pytest\n")
    return str(folder)


@pytest.mark.parametrize(
    ("arguments", "conftest"),
    [
        ([], ""),
        (["-p", "manners"], ""),
        (["-p", "manners.compat.pytest"], 'pytest_plugins = ["manners.compat.pytest"]\n'),
    ],
)
def test_the_entry_point_and_another_way_to_load_it_go_together(
    site: Site, installed: str, arguments: list[str], conftest: str
) -> None:
    """pytest refuses a module under a second name; the plug-in keeps it from trying."""
    site.write("conftest.py", conftest)
    printed = site.pytest(
        *arguments, load=False, PYTEST_DISABLE_PLUGIN_AUTOLOAD="", PYTHONPATH=installed
    )
    assert "5 passed" in printed, printed


def test_the_entry_point_can_be_switched_off(site: Site, installed: str) -> None:
    """As with every plug-in, `-p no:manners` leaves it out."""
    printed = site.pytest(
        *("-p", "no:manners"), load=False, PYTEST_DISABLE_PLUGIN_AUTOLOAD="", PYTHONPATH=installed
    )
    assert "no tests ran" in printed


def test_the_project_declares_the_entry_point() -> None:
    """The name is the one the tests above use."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    declared = '[project.entry-points.pytest11]\nmanners = "manners.compat.pytest"\n'
    assert declared in project.read_text("utf-8")


def test_loading_the_plugin_loads_no_engine() -> None:
    """Who has the package installed and tests something else pays for next to nothing."""
    script = """if True:
        import sys, pytest
        before = set(sys.modules)
        import manners.compat.pytest as plugin
        print(*sorted(set(sys.modules) - before))
        plugin.assert_allowed
        print("manners.testing" in sys.modules)
    """
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    loaded, after = ran.stdout.splitlines()
    ours = {"manners", "manners._text", "manners.compat", "manners.compat.pytest", "manners.errors"}
    assert set(loaded.split()) == ours
    assert after == "True"


def test_without_pytest_the_extra_is_named() -> None:
    """An import says what to install."""
    script = "import sys; sys.modules['pytest'] = None; import manners.compat.pytest"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    last = ran.stderr.splitlines()[-1]
    assert last == (
        "manners.errors.MissingExtra: 'pytest' needs 'pytest': pip install 'manners[pytest]'"
    )


def test_a_pytest_that_is_broken_is_not_called_missing() -> None:
    """What pytest itself lacks is another error."""
    script = "import sys; sys.modules['pluggy'] = None; import manners.compat.pytest"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtra" not in ran.stderr
    assert "pluggy" in ran.stderr.splitlines()[-1]


def test_the_assertions_are_here_too() -> None:
    """They are those of `manners.testing`; there is nothing else."""
    assert plugin.assert_allowed is testing.assert_allowed
    assert plugin.assert_disallowed is testing.assert_disallowed
    with pytest.raises(AttributeError, match=r"'manners\.compat\.pytest' has no attribute 'nope'"):
        plugin.nope  # noqa: B018


# Mistakes.

HEAD = 'robots = "robots.txt"\n'
GOOD = '[[test]]\nagent = "a"\nurl = "/"\nexpect = "allowed"\n'
AGENT = 'write agent = "GPTBot", or a list of names'
URL = 'url = "https://example.com/private/", a path such as "/private/", or a list of them'
EXPECT = 'expect = "allowed" or expect = "disallowed"'
TEST = "[[test]] with agent, url and expect"

MISTAKES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", f": no tests; add {TEST}"),
    "no_tests": (HEAD, f": no tests; add {TEST}"),
    "no_test_in_the_list": (HEAD + "test = []", f": no tests; add {TEST}"),
    "test_is_a_number": (HEAD + "test = 3", f": no tests; add {TEST}"),
    "test_is_numbers": (HEAD + "test = [3]", f": test 1: 3 is not a test; write {TEST}"),
    "one_bracket": (
        HEAD + GOOD.replace("[[test]]", "[test]"),
        ": [test] is a single table; write [[test]], with two brackets",
    ),
    "robots_missing": (GOOD, ": no 'robots'; add robots = \"public/robots.txt\""),
    "robots_wrong": (
        "robots = 3\n" + GOOD,
        ": 'robots' is 3; write robots = \"public/robots.txt\"",
    ),
    "robots_a_list": (
        'robots = ["a"]\n' + GOOD,
        ": 'robots' is ['a']; write robots = \"public/robots.txt\"",
    ),
    "robots_not_found": (
        'robots = "public/../robot.txt"\n' + GOOD,
        ": no file robot.txt; 'robots' is a path from the folder of this file",
    ),
    "robots_a_folder": (
        'robots = "."\n' + GOOD,
        ": no file .; 'robots' is a path from the folder of this file",
    ),
    "robots_too_large": (
        'robots = "large.txt"\n' + GOOD,
        ": {folder}large.txt has more than 16,777,216 bytes",
    ),
    "file_key": (
        "robot = 1\n" + GOOD,
        ": unknown key 'robot'; did you mean 'robots'?",
    ),
    "tests_key": (
        HEAD + GOOD.replace("[[test]]", "[[tests]]"),
        ": unknown key 'tests'; did you mean 'test'?",
    ),
    "strange_key": (
        HEAD + '"\\u001b" = 1\n' + GOOD,
        ": unknown key '\\x1b'; choose from: robots, dialect, test",
    ),
    "dialect_wrong": (
        HEAD + "dialect = true\n" + GOOD,
        ": 'dialect' is True; write dialect = \"rfc9309\"",
    ),
    "dialect_unknown": (
        HEAD + 'dialect = "gogle"\n' + GOOD,
        ": unknown dialect 'gogle'; choose from: audit, google, rfc9309, robotrules, scanner,"
        " specificity",
    ),
    "dialect_in_a_test": (
        HEAD + GOOD + 'dialect = "google"\n',
        ":2: test 1: 'dialect' belongs to the file, not to a test;"
        " write it above the first [[test]]",
    ),
    "test_key": (
        HEAD + GOOD + "\n" + GOOD + "\n" + GOOD.replace("url", "urls"),
        ":12: test 3: unknown key 'urls'; did you mean 'url'?",
    ),
    "strange_test_key": (
        HEAD + GOOD + "x = 1",
        ":2: test 1: unknown key 'x'; choose from: agent, url, expect",
    ),
    "agent_missing": (
        HEAD + GOOD.replace('agent = "a"\n', ""),
        ":2: test 1: no 'agent'; add agent = \"GPTBot\", or a list of names",
    ),
    "agent_empty": (HEAD + GOOD.replace('"a"', '" "'), f":2: test 1: 'agent' is ' '; {AGENT}"),
    "agent_empty_list": (HEAD + GOOD.replace('"a"', "[]"), f":2: test 1: 'agent' is []; {AGENT}"),
    "agent_mixed": (HEAD + GOOD.replace('"a"', '["a", 3]'), f":2: test 1: 'agent' is 3; {AGENT}"),
    "agent_nested": (
        HEAD + GOOD.replace('"a"', '[["a"]]'),
        f":2: test 1: 'agent' is ['a']; {AGENT}",
    ),
    "agent_long": (
        HEAD + GOOD.replace('"a"', "[[" + '"a", ' * 100 + "]]"),
        f":2: test 1: 'agent' is [{chr(39)}a{chr(39)}{', ' + repr('a')}",
    ),
    "url_missing": (HEAD + GOOD.replace('url = "/"\n', ""), f":2: test 1: no 'url'; add {URL}"),
    "url_wrong": (HEAD + GOOD.replace('"/"', "1.5"), f":2: test 1: 'url' is 1.5; write {URL}"),
    "url_misread": (
        HEAD + GOOD + GOOD.replace('"/"', '["/", "private/"]'),
        ":6: test 2: 'private/': neither a URL nor a path; begin it with https:// or with /",
    ),
    "expect_missing": (
        HEAD + GOOD.replace('expect = "allowed"\n', ""),
        f":2: test 1: no 'expect'; add {EXPECT}",
    ),
    "expect_wrong": (
        HEAD + GOOD.replace('"allowed"', "true"),
        f":2: test 1: 'expect' is True; write {EXPECT}",
    ),
    "expect_misspelt": (
        HEAD + GOOD.replace('"allowed"', '"disalowed"'),
        f":2: test 1: 'expect' is 'disalowed'; write {EXPECT}",
    ),
    "inline": (
        HEAD + 'test = [{agent = "a", url = "/", expect = "allowed"}, {agent = "b"}]',
        f": test 2: no 'url'; add {URL}",
    ),
    "too_many": (
        HEAD + GOOD.replace('"a"', str(["a"] * 400)).replace('"/"', str(["/"] * 400)),
        ":2: test 1: more than 100,000 agents and URLs; split the file",
    ),
    "not_toml": (HEAD + "[[test\n", ": not TOML: Expected ']]' at the end of an array declaration"),
    "endless_number": ("x = " + "1" * 5000, ": not TOML: Exceeds the limit"),
    "not_utf8": (b"# \xe9\n", ": not UTF-8; save the file in this encoding"),
    "deep": ("x = " + "[" * 100_000, ": not TOML that can be read: nested too deeply"),
    "large": (
        "#" * (1024 * 1024 + 1),
        ": {folder}large_robots_tests.toml has more than 1,048,576 bytes",
    ),
}


PYTHONS_WORDS = ("agent_long", "endless_number", "not_toml")
"""How these go on is not ours to say."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    """What each mistaken file is told in one run over all of them, and the end of the output."""
    site = Site(tmp_path_factory.mktemp("mistakes"))
    site.write("robots.txt", ROBOTS)
    with (site.folder / "large.txt").open("wb") as file:
        file.truncate(testing.assertions.MAX_FILE + 1)
    for name, (content, _) in MISTAKES.items():
        site.write(f"{name}_robots_tests.toml", content)
    printed = site.pytest("-q")
    assert site.code == 2, printed
    printed = printed.replace(str(site.folder) + os.sep, "{folder}")
    body, _, end = printed.partition("= short test summary info =")
    parts = re.split(
        r"^_+ ERROR collecting (\w+)_robots_tests\.toml _+\n", body, flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True)), end


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_place_and_what_to_do(
    told: tuple[dict[str, str], str], name: str
) -> None:
    """It is an error of one line, which begins with the file; nothing is run in its place."""
    said, *rest = told[0][name].rstrip("\n=").split("\n")
    assert rest == []
    expected = f"{name}_robots_tests.toml{MISTAKES[name][1]}"
    assert said == expected or (name in PYTHONS_WORDS and said.startswith(expected))
    assert len(said) < 300


def test_mistakes_run_no_test(told: tuple[dict[str, str], str]) -> None:
    """Every mistaken file is an error in the sum."""
    assert f"{len(MISTAKES)} errors in " in told[1]
    assert " passed" not in told[1]


def test_a_byte_order_mark_is_no_mistake(site: Site) -> None:
    """Some editors write one."""
    site.write("robots_tests.toml", b"\xef\xbb\xbf" + TESTS.replace("\n", "\r\n").encode())
    assert "5 passed" in site.pytest()


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("robots_tests.toml", "robots_tests.toml: cannot be read: no\n"),
        ("robots.txt", f"robots_tests.toml: {Path('public/robots.txt')} cannot be read: no\n"),
    ],
)
def test_files_that_cannot_be_read_are_mistakes_too(site: Site, refused: str, said: str) -> None:
    """The reason is the system's."""
    site.write(
        "conftest.py",
        f"""if True:
        from pathlib import Path

        real = Path.open

        def open(path, *rest, **named):
            if path.name == {refused!r}:
                raise PermissionError(13, "no")
            return real(path, *rest, **named)

        Path.open = open
        """,
    )
    assert said in site.pytest()


def test_a_path_the_system_refuses_is_a_mistake_too(site: Site) -> None:
    """A name may be too long, or have a character that no name has."""
    site.write("robots_tests.toml", TESTS.replace("public/", "x" * 300 + "/"))
    assert "robots.txt cannot be read: File name too long\n" in site.pytest()
    site.write("robots_tests.toml", TESTS.replace("public/", "\\u0000"))
    assert "robots_tests.toml: no file \\x00robots.txt; 'robots' is a path" in site.pytest()
