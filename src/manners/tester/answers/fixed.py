"""The file with every fix that is proved to change no verdict, for any agent and any URL."""

from typing import Any

from manners import lint
from manners._text import to_text
from manners.tester.answers.findings import engines, refuse_large
from manners.tester.question import Question


def answer(question: Question) -> dict[str, Any]:
    """The file after all proved fixes."""
    refuse_large(question)
    fixed = lint.fix(question.body, engines(question), url=question.file_url)
    return {"robots": to_text(fixed), "changed": fixed != question.body}
