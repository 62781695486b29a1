// What stands below the table: why, findings, what agents are told, usage signals.

import { count, lineButton, make, shown, written } from "./elements.js";

const SPECIFICITY = { 3: "by name", 2: "by a part of the name", 1: "for everybody", 0: "by no group" };
const MARKS = { yes: "✓ yes", no: "✕ no", unknown: "– unknown" };
const CLASSES = { yes: "ok-text", no: "no-text", unknown: "soft" };

function more(shownNumber, total, thing) {
  return total > shownNumber ? make("p.cut", {}, `${count(total - shownNumber, `more ${thing}`)} not shown.`) : null;
}

function table(caption, head, rows) {
  const cells = (row) => row.map((cell, at) => make(at ? "td" : "th", at ? {} : { scope: "row" }, cell));
  return make(
    "div.scroller",
    { tabIndex: 0, role: "region", "aria-label": caption },
    make(
      "table.plain",
      {},
      make("caption.hidden", {}, caption),
      make("thead", {}, make("tr", {}, head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, cells(row)))),
    ),
  );
}

// Why one agent may or may not fetch one URL.
export function showWhy(place, editor, found) {
  const verdict = found.allowed ? "may fetch" : "may not fetch";
  const sentence = make(
    "p.sentence",
    {},
    make("strong", {}, written(found.agent, 80)),
    ` ${verdict} `,
    make("strong", {}, written(found.url, 200)),
    found.line ? [": ", lineButton(editor, found.line), " decides, ", make("code", {}, shown(found.text))] : `: ${REASONS[found.reason] ?? found.reason}`,
    ".",
  );
  const path = make("p.note", {}, "The path that is matched: ", make("code", {}, shown(found.path)));
  place.replaceChildren(make("div.verdict-box", { className: `verdict-box ${found.allowed ? "ok" : "no"}` }, sentence, path), make("div.pair", {}, rulesOf(editor, found), enginesOf(editor, found)), groupsOf(editor, found));
}

const REASONS = {
  "no-rule-matched": "no rule of its groups matches, so it is allowed",
  "no-group": "no group is for this agent, and none is for everybody",
  "robots-txt-itself": "robots.txt itself may always be fetched",
  "too-many-rules": "the file has more rules than this engine reads, so everything is allowed",
};

function rulesOf(editor, found) {
  const rows = found.rules.map((rule, at) =>
    make(
      `li${rule.decides ? ".decides" : ""}`,
      {},
      make("span.rank", {}, `${at + 1}.`),
      make(`span.${rule.allow ? "ok" : "no"}-text`, {}, rule.allow ? "Allow" : "Disallow"),
      make("code", {}, shown(rule.pattern)),
      lineButton(editor, rule.line),
      rule.decides ? make("span.soft", {}, "decides") : null,
    ),
  );
  const list = rows.length ? make("ol.rules", {}, rows) : make("p.none", {}, "No rule matches.");
  return make("div", {}, make("h3", {}, "Rules that match, best first"), list, more(rows.length, found.rule_count, "rule"));
}

function enginesOf(editor, found) {
  const rows = found.engines.map((engine) => {
    const differs = engine.allowed !== found.allowed;
    return [
      make("span", { title: engine.summary }, engine.dialect),
      make(`span.${engine.allowed ? "ok" : "no"}-text`, {}, engine.allowed ? "✓ allowed" : "✕ disallowed"),
      engine.line ? lineButton(editor, engine.line) : make("span.soft", {}, "no rule"),
      make("span", {}, differs ? "≠ disagrees" : ""),
    ];
  });
  return make("div", {}, make("h3", {}, "What each engine says"), table("What each engine says", ["Engine", "Verdict", "By", ""], rows));
}

function groupsOf(editor, found) {
  const rows = found.groups.map((group) =>
    make("li", {}, lineButton(editor, group.line), " ", make("bdi", {}, shown(group.agents.join(", "), 120) || "(no name)"), make(group.chosen ? "span.ok-text" : "span.soft", {}, ` ${group.why}`)),
  );
  if (!rows.length) return null;
  return make("details", {}, make("summary", {}, `Which groups are for it (${count(found.groups.length, "group")})`), make("ul.groups", {}, rows));
}

// What the linter found; `fix` is called with the edits of one finding, `fixAll` with nothing.
export function showFindings(place, editor, found, { fix, fixAll }) {
  const items = found.findings.map((finding) => findingOf(editor, found, finding, fix));
  const all = found.fixable ? make("button", { type: "button", onclick: fixAll }, `Apply all fixes that change no verdict (${found.fixable})`) : null;
  const total = Object.values(found.counts).reduce((sum, number) => sum + number, 0);
  place.replaceChildren(
    ...(total ? [all ?? "", make("ol.findings", {}, items)] : [make("p.none", {}, "Nothing to report: no mistakes were found in this file.")]),
    ...[more(items.length, total, "finding")].filter(Boolean),
  );
}

function findingOf(editor, found, finding, fix) {
  const rule = found.rules[finding.name];
  const button = finding.fix?.alone
    ? make("button", { type: "button", onclick: () => fix(finding.fix.edits) }, shown(capital(finding.fix.summary), 120))
    : null;
  const effect = finding.fix && (finding.fix.safe ? (finding.fix.alone ? "changes no verdict: proved" : "can be fixed together with the others") : "changes verdicts, on purpose");
  return make(
    "li",
    { id: `finding-${finding.line}-${finding.code}`, tabIndex: -1 },
    make("div.head", {}, make(`span.badge.${finding.severity}`, {}, finding.severity), lineButton(editor, finding.line), make("span.soft", {}, `${finding.code} ${finding.name}`)),
    make("p", {}, sentence(finding.message)),
    finding.fix ? make("p.fix", {}, button, " ", make("span.soft", {}, effect)) : null,
    rule ? make("details", {}, make("summary", {}, "Why it matters"), make("p", {}, plain(rule.what)), rule.why.split("\n\n").map((part) => make("p", {}, plain(part)))) : null,
  );
}

function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function sentence(text) {
  return `${capital(shown(text, 500))}.`;
}

// A paragraph of our own documentation without its marks.
function plain(text) {
  return text.replaceAll("`", "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ");
}

export function showOverview(place, editor, found) {
  const rows = found.agents.map((agent) => [
    written(agent.agent, 60),
    agent.group ? [written(agent.group, 60), make("span.sub", {}, SPECIFICITY[agent.specificity])] : make("span.soft", {}, "no group"),
    agent.lines.slice(0, 5).map((line) => [lineButton(editor, line), " "]),
    String(agent.rules),
    [
      agent.crawl_delay === null ? null : make("div", {}, `${agent.crawl_delay} s between requests`),
      agent.request_rate ? make("div", {}, `at most ${agent.request_rate}`) : null,
      agent.visit_time ? make("div", {}, `at ${agent.visit_time}`) : null,
      agent.crawl_delay === null && !agent.request_rate && !agent.visit_time ? make("span.soft", {}, "as it likes") : null,
    ],
  ]);
  const sitemaps = found.sitemaps.map((sitemap) => make("li", {}, lineButton(editor, sitemap.line), " ", written(sitemap.url, 200)));
  const groups = found.groups.map((group) =>
    make("li", {}, lineButton(editor, group.line), " ", make("bdi", {}, shown(group.agents.join(", "), 160) || "(no name)"), make("span.soft", {}, ` ${count(group.disallows, "Disallow")}, ${count(group.allows, "Allow")}`)),
  );
  place.replaceChildren(
    rows.length ? table("What each agent is told", ["Agent", "Group", "Begins at", "Rules", "Pace"], rows) : "",
    make(
      "div.pair",
      {},
      make("div", {}, make("h3", {}, `Groups (${found.group_count})`), groups.length ? make("ul.groups", {}, groups) : make("p.none", {}, "None."), more(groups.length, found.group_count, "group") ?? ""),
      make("div", {}, make("h3", {}, `Sitemaps (${found.sitemap_count})`), sitemaps.length ? make("ul.groups", {}, sitemaps) : make("p.none", {}, "None."), more(sitemaps.length, found.sitemap_count, "sitemap") ?? ""),
    ),
  );
}

export function showUsage(place, editor, found) {
  // Most files say nothing about most purposes: those are named in a line.
  const numbers = found.purposes.map((_, at) => at);
  const isSaid = (at) => found.agents.some((agent) => agent.answers[at].answer !== "unknown" || agent.answers[at].conditions.length);
  const rows = numbers.filter(isSaid).map((at) => [
    [make("span", {}, found.purposes[at].name), make("span.sub", {}, found.purposes[at].meaning)],
    ...found.agents.map((agent) => usageOf(editor, agent.answers[at])),
  ]);
  const unsaid = numbers.filter((at) => !isSaid(at)).map((at) => found.purposes[at]);
  const problems = found.problems.map((problem) => make("li", {}, lineButton(editor, problem.line || 1), ` ${problem.code} (${problem.standard}): `, written(problem.text, 200)));
  place.replaceChildren(
    make("p.note", {}, "What may be done with ", written(found.url, 160), ", as far as robots.txt says; headers, HTML and files beside it may say more."),
    rows.length ? table("Usage signals by agent", ["Purpose", ...found.agents.map((agent) => written(agent.agent, 60))], rows) : "",
    make("p.note", {}, unsaid.length ? "Nothing is said about: " : "", unsaid.map((purpose, at) => [at ? ", " : "", make("span", { title: purpose.meaning }, purpose.name)])),
    ...(problems.length ? [make("h3", {}, "What could not be read"), make("ul.groups", {}, problems)] : []),
  );
}

function usageOf(editor, answer) {
  const lines = new Map(answer.claims.filter((claim) => claim.line).map((claim) => [claim.line, claim]));
  return [
    make(`span.${CLASSES[answer.answer]}`, {}, MARKS[answer.answer], answer.conflict ? " (conflict)" : ""),
    make("span.sub", {}, [...lines.values()].slice(0, 3).map((claim) => [make("span", { title: shown(claim.text) }, `${claim.standard}, `), lineButton(editor, claim.line), " "])),
    answer.conditions.length ? make("span.sub", {}, shown(answer.conditions.join("; "), 200)) : null,
  ];
}
