"""Agents and URLs: who may fetch what, and the line that decides. Asked after every keystroke."""

from typing import Any

from manners.robots.policy import Policy
from manners.robots.verdict import Verdict
from manners.tester.question import Question


def answer(question: Question) -> dict[str, Any]:
    """A verdict for each URL and agent."""
    robots = question.parsed()
    policies = [question.policy(agent, robots) for agent in question.agents]
    return {
        "dialect": robots.dialect.name,
        "bytes": len(question.body),
        "truncated": robots.truncated,
        "rows": [_row(url, policies) for url in question.urls],
    }


def _row(url: str, policies: list[Policy]) -> dict[str, Any]:
    verdicts = [policy.check(url) for policy in policies]
    path = verdicts[0].path if verdicts else ""
    return {"url": url, "path": path, "cells": [cell(verdict) for verdict in verdicts]}


def cell(verdict: Verdict) -> dict[str, Any]:
    """A verdict as the table shows it."""
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason.value,
        "line": verdict.line,
        "text": verdict.line_text.strip(),
    }
