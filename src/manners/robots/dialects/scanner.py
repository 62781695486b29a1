"""A security scanner's reading: one record per User-agent line, paths without query."""

from manners.robots import agents, patterns
from manners.robots.dialects.rfc9309 import DIALECT as RFC9309

DIALECT = RFC9309.but(
    name="scanner",
    summary="one record per agent line, path only, 1,000 rules",
    # "지원 지시자(대소문자 무시): User-agent, Allow, Disallow": these, spelt so. Crawl-delay and
    # Sitemap, which its specification ignores, stay exposed: they change no verdict.
    keys="exact",
    colon_optional=False,
    # "User-agent 라인으로 시작, 다음 User-agent 또는 빈 줄 전까지의 블록": from one User-agent
    # line to the next, or to a blank line.
    record_end="agent",
    # "기본 UA: "WebKillerAI" (대소문자 무시하여 비교)": names are compared whole, ignoring case.
    agent_key=agents.whole_key,
    own_key=agents.whole_key,
    # "rules = rulesFor(ua) or rulesFor("*")": an empty own section counts as absent.
    empty_section_falls_back=True,
    # "비정상 패턴(공백, 역슬래시 등)은 무시": patterns with spaces or backslashes are dropped;
    # "퍼센트 인코딩은 디코드하지 않음, HEX는 대문자로 정규화": nothing decoded, %xx upper-cased.
    normalise_pattern=patterns.scanner_pattern,
    # "매칭 대상 문자열: rawPath (쿼리·프래그먼트 제외)"; "//" is collapsed to "/".
    normalise_path=patterns.scanner_path,
    # "규칙 수: 최대 1000 … 규칙 초과 시 → allow-all (경고 로그)".
    max_rules=1000,
    # "실패(404/410/5xx/네트워크): 10분 (allow-all 유지)": every failure allows everything.
    profile="open",
)
