"""The summary of a crawl, as `manners crawl` ends with and `manners crawl status` prints."""

from pathlib import Path

import pytest

from manners.cli import main
from tests.client.asking import in_turn, rules
from tests.crawler.made import Made
from tests.faults.server import Site, by_path, in_thread
from tests.faults.server import page as answer

SITE = "https://shop.example"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("MANNERS_STORE", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def summary(made: Made, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines below the first two, without the last."""
    made.write("interrupted")
    assert main(["crawl", "status", "--store", "crawl.db"]) == 0
    return capsys.readouterr().out.splitlines()[2:-1]


def test_what_was_fetched_and_what_failed_are_told_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What stands behind a number adds up to it, but for redirects, which are named."""
    made = Made("crawl.db")
    for number in range(3):
        made.ask(f"{SITE}/{number}")
    made.ask(f"{SITE}/gone", 404)
    for number in range(2):
        made.ask(f"{SITE}/old/{number}", 301, reason="redirect")
        made.ask(f"{SITE}/lost/{number}", None, cause="timeout")
    made.ask(f"{SITE}/broken", 500)
    assert summary(made, capsys) == [
        "  fetched          4  200: 3, 404: 1, and 2 redirects",
        "  failed           3  timeout: 2, status 500: 1",
        "  blocked          0",
        "  left             0",
    ]


def test_only_redirects(capsys: pytest.CaptureFixture[str]) -> None:
    made = Made("crawl.db")
    made.ask(f"{SITE}/", 301, reason="redirect")
    assert summary(made, capsys)[0] == "  fetched          0  and 1 redirect"


def test_a_list_of_reasons_that_goes_on_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """How many more there are, and how many URLs are out for them."""
    made = Made("crawl.db")
    for number in range(23):
        for each in range(2 + (number < 20)):
            made.out(f"{SITE}/{number}/{each}", "other-host", f"h{number}.example")
    lines = summary(made, capsys)
    assert lines[2] == "  blocked         66"
    assert lines[3] == "            3  other-host: h0.example"
    assert lines[23:] == ["            6  for 3 other reasons", "  left             0"]


@pytest.mark.parametrize(
    ("pages", "sitemaps", "said"),
    [
        (0, 0, "0"),
        (2, 0, "2"),
        (0, 1, "0  and 1 sitemap to read"),
        (2, 3, "2  and 3 sitemaps to read"),
    ],
)
def test_what_is_left(
    capsys: pytest.CaptureFixture[str], pages: int, sitemaps: int, said: str
) -> None:
    """Sitemaps as well: a resume reads them, and nobody knows what they name."""
    made = Made("crawl.db")
    made.ask(f"{SITE}/")
    for number in range(pages):
        made.left(f"{SITE}/{number}")
    for number in range(sitemaps):
        made.left(f"{SITE}/{number}.xml", "sitemap")
    assert summary(made, capsys)[-1] == f"  left             {said}"


def test_how_to_go_on_is_told_where_a_resume_has_something_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is left, but a robots.txt that could not be reached is asked for again; then none."""
    robots = in_turn(answer(status=500), rules("Disallow:"))
    with in_thread(Site(by_path({"/robots.txt": robots, "/": answer(b"x")}))) as site:
        first = ["crawl", "--allow-private", "--store", "crawl.db", site.url()]
        assert main(first) == 3
        lines = capsys.readouterr().out.splitlines()
        assert "  left             0" in lines
        (goes_on,) = (line for line in lines if line.startswith("resume"))
        assert goes_on == "resume: manners crawl resume --store crawl.db"
        assert main(goes_on.partition("manners ")[2].split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  fetched          1  200: 1" in lines
    assert not [line for line in lines if line.startswith("resume")]
