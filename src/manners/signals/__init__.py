"""Usage signals: what a site says may be done with its pages, and where it says so.

`usage` reads everything that is known of a page: its robots.txt, headers and HTML, and files beside
it. `readers` has one file for each standard, which turns text into claims; `merge` makes one answer
for each purpose of them: yes, no or unknown, with every claim behind it.

Quiet: no input or output, no clock, no randomness.

>>> usages = usage("https://example.com/", robots_txt="User-agent: *\\nContent-Usage: train-ai=n")
>>> usages["ai-train"].answer, usages["search"].answer
('no', 'unknown')
"""

from manners.signals.claims import PURPOSES, Claim, Edition, Purpose, SignalProblem, Usage
from manners.signals.merge import may, usage
from manners.signals.readers import editions
from manners.signals.readers import names as standards
from manners.signals.tokens import POLICY_TOKENS, PolicyToken

__all__ = [
    "POLICY_TOKENS",
    "PURPOSES",
    "Claim",
    "Edition",
    "PolicyToken",
    "Purpose",
    "SignalProblem",
    "Usage",
    "editions",
    "may",
    "standards",
    "usage",
]
