"""Problems in robots.txt files and in sitemaps."""

from manners._text import cut
from manners.report.data import Report, RobotsProblem, SitemapProblem, SitemapRead
from manners.report.html import words
from manners.report.html.elements import Child, element, untrusted
from manners.report.html.parts import cut_notice, missing_records, nothing, small, table

ORDER = 80
TITLE = "Problems"

_MAX_PROBLEMS = 3
"""Problems of one sitemap that are shown."""


def content(report: Report) -> Child:
    """Both lists."""
    return [
        element("h3", "In robots.txt"),
        _in_robots(report),
        element("h3", "In sitemaps"),
        _in_sitemaps(report),
    ]


def _in_robots(report: Report) -> Child:
    problems = report.problems
    if not problems.rows:
        return nothing(f"None found. {missing_records(report)}")
    rows = map(_robots_row, problems.rows)
    return [
        table("Problems in robots.txt", ("Line", "Problem"), rows, hide=True),
        cut_notice(problems, "line", report),
    ]


def _robots_row(problem: RobotsProblem) -> tuple[Child, ...]:
    place = small(f"line {problem.line} of ", untrusted(problem.url))
    return [untrusted(problem.text), place], "; ".join(map(words.problem, problem.problems))


def _in_sitemaps(report: Report) -> Child:
    rows = [
        (untrusted(sitemap.url), _problems(sitemap))
        for sitemap in report.sitemaps.rows
        if sitemap.problems
    ]
    if not rows:
        return nothing("None found.")
    return table("Problems in sitemaps", ("Sitemap", "Problem"), rows, hide=True)


def _problems(sitemap: SitemapRead) -> Child:
    shown = [element("div", _problem(problem)) for problem in sitemap.problems[:_MAX_PROBLEMS]]
    more = len(sitemap.problems) - len(shown)
    return [shown, element("div", f"and {more} more", class_="soft") if more > 0 else None]


def _problem(problem: SitemapProblem) -> Child:
    line = f"line {problem.line}: " if problem.line else ""
    name = cut(problem.problem, 80).replace("-", " ")
    return [line, name, [": ", untrusted(problem.detail, 100)] if problem.detail else None]
