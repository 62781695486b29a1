"""Check a list of URLs: which may be fetched, and why?

    python check_a_list.py urls.txt --agent MyBot

The file has one URL a line. Only robots.txt files are requested. The exit code is 0 when every URL
is allowed, 1 when one is not, 3 when one could not be decided.

Settings come from `manners.toml` and the environment: for a site on your own machine, run it with
MANNERS_ALLOW_PRIVATE=true.
"""

import argparse
import sys
from pathlib import Path

import manners
from manners import MannersError


def main() -> int:
    """Print a line for each URL."""
    options = argparse.ArgumentParser(description="May these URLs be fetched?")
    options.add_argument("file", type=Path, help="a file with one URL a line")
    options.add_argument("--agent", default="MyBot", help="whose rules are checked")
    given = options.parse_args()

    answers = set()
    with manners.Client(given.agent, manners.Settings.load()) as client:
        for url in given.file.read_text("utf-8").split():
            try:
                verdict = client.check(url)
            except MannersError as error:  # an invalid URL, or a host that must not be asked now
                print(f"undecided   {url}  {error}")
                answers.add("undecided")
                continue
            answer = "allowed" if verdict.allowed else "disallowed"
            if verdict.reason is manners.Reason.UNREACHABLE:
                answer = "undecided"  # disallowed for now: the rules are not known
            why = f"line {verdict.line}: {verdict.line_text.strip()}"
            print(f"{answer:<10}  {url}  {why if verdict.line else verdict.reason}")
            answers.add(answer)
    return 3 if "undecided" in answers else 1 if "disallowed" in answers else 0


if __name__ == "__main__":
    sys.exit(main())
