// The tester: a robots.txt, agents and URLs; verdicts at once, everything else a moment later.

import { count, make, partsOf, say, shown } from "./elements.js";
import { Editor, takeFiles } from "./editor.js";
import { Address, readState, share } from "./fragment.js";
import { Latest } from "./latest.js";
import { showFindings, showOverview, showUsage, showWhy } from "./panels.js";
import { VerdictTable } from "./table.js";

const SOON = 200; // milliseconds without typing before the rest is asked for
const LATER = 450; // before the file is linted
const EXAMPLE = {
  robots: `# Everybody may read the shop, but not the cart.
User-agent: *
Disallow: /cart/
Disallow: /search
Allow: /search/help
Disallow: /*.pdf$
Crawl-delay: 2

User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /
Allow: /about
Content-Signal: search=yes, ai-train=no

Sitemap: https://shop.example/sitemap.xml
`,
  agents: "Googlebot\nbingbot\nGPTBot\nMyBot",
  urls: "https://shop.example/\nhttps://shop.example/cart/add?item=7\nhttps://shop.example/search?q=shoes\nhttps://shop.example/search/help\nhttps://shop.example/about\nhttps://shop.example/prices.pdf",
  dialect: "rfc9309",
  at: [3, 0], // where an Allow beats a Disallow
};

const linesOf = (text) => [...new Set(text.split("\n").map((line) => line.trim()).filter(Boolean))];

export async function startTester(root, backend) {
  const tester = new Tester(root, backend);
  await tester.open();
  return tester;
}

class Tester {
  constructor(root, backend) {
    const parts = partsOf(root);
    this.parts = parts;
    this.backend = backend;
    this.address = new Address();
    this.fileUrl = "";
    this.editor = new Editor(parts.editor, {
      label: "robots.txt",
      describedBy: "file-facts",
      changed: () => this.changed(),
      openFinding: (finding) => document.getElementById(`finding-${finding.line}-${finding.code}`)?.focus(),
    });
    this.table = new VerdictTable(parts.table, () => this.chosen(), () => this.editor.go(this.line || 1));
    this.asked = { agents: [], urls: [] };
    parts.promise.textContent = backend.promise;
    this.#questions();
    this.#listen();
  }

  async open() {
    const choices = await this.backend.ask("choices", { robots: "" });
    this.limits = choices.limits;
    this.parts.dialect.append(...choices.dialects.map((each) => make("option", { value: each.name }, `${each.name}: ${each.summary}`)));
    this.parts["add-agent"].append(...choices.crawlers.map((name) => make("option", { value: name }, name)));
    takeFiles(this.editor.root, this.parts.open, this.parts.file, choices.limits.bytes, (text) => this.load(text), (problem) => this.trouble(problem));
    await this.#readAddress();
  }

  // The whole state; what a link has in it.
  get state() {
    const state = { robots: this.editor.value, agents: this.parts.agents.value, urls: this.parts.urls.value, dialect: this.parts.dialect.value };
    return this.fileUrl ? { ...state, file_url: this.fileUrl } : state;
  }

  set state(state) {
    const text = (name) => (typeof state[name] === "string" ? state[name] : "");
    this.parts.agents.value = text("agents");
    this.parts.urls.value = text("urls");
    this.fileUrl = text("file_url");
    const known = [...this.parts.dialect.options].some((option) => option.value === state.dialect);
    this.parts.dialect.value = known ? state.dialect : "rfc9309";
    this.editor.value = text("robots");
    this.changed();
  }

  // Takes another file; where it came from, if that is known.
  load(text, fileUrl = "") {
    this.fileUrl = fileUrl;
    this.editor.value = text;
    this.changed();
  }

  // Somebody has typed: verdicts now, the rest after a pause.
  changed() {
    if (!this.parts.dialect.value) return; // typed before the page has started, which asks then
    const values = this.#values();
    this.trouble("");
    this.parts.facts.textContent = `${count(this.editor.lineCount, "line")}, ${count(new TextEncoder().encode(values.robots).length, "byte")}`;
    this.asked = values;
    this.verdicts.put(values);
    this.engines.put(values, SOON);
    this.overview.put(values, SOON);
    this.findings.put({ robots: values.robots, dialect: values.dialect, file_url: values.file_url }, LATER);
    this.address.keep(this.state);
  }

  // A cell was chosen: its line lights up, and what there is to know about it is asked for.
  chosen(wait = 0) {
    const [row, column] = this.table.at;
    const cell = this.rows?.[row]?.cells[column];
    this.line = cell?.line ?? 0;
    const { agents, urls } = this.asked;
    if (!cell || !(row in urls) || !(column in agents)) return;
    if (wait === 0) this.editor.mark(this.line);
    const one = { ...this.asked, agents: [agents[column]], urls: [urls[row]] };
    this.why.put(one, wait);
    this.usage.put({ ...this.asked, urls: [urls[row]] }, Math.max(wait, 50));
  }

  trouble(text) {
    say(this.parts.trouble, text && shown(text));
  }

  #values() {
    const values = {
      robots: this.editor.value,
      agents: linesOf(this.parts.agents.value),
      urls: linesOf(this.parts.urls.value),
      dialect: this.parts.dialect.value,
    };
    return this.fileUrl ? { ...values, file_url: this.fileUrl } : values;
  }

  #questions() {
    const { ask } = this.backend;
    const { parts, editor } = this;
    const quiet = () => {}; // the table tells what is wrong with a question
    const question = (name, show, fail = quiet) => new Latest((values) => ask(name, values), show, fail);
    this.verdicts = question("verdicts", (answer, values) => this.#showVerdicts(answer, values), (error) => this.trouble(error.message));
    this.engines = question("engines", (answer, values) => this.table.showEngines(answer.rows, values));
    this.overview = question("overview", (answer) => showOverview(parts.overview, editor, answer));
    this.why = question("rules", (answer) => showWhy(parts.why, editor, answer));
    this.usage = question("usage", (answer) => showUsage(parts.usage, editor, answer));
    this.findings = question("findings", (answer) => this.#showFindings(answer), (error) => this.#noFindings(error));
    this.fixed = question("fixed", (answer) => editor.replace(answer.robots), (error) => this.trouble(error.message));
  }

  #showVerdicts(answer, values) {
    this.rows = answer.rows;
    this.table.show(values.agents, answer.rows, values);
    if (!answer.rows.length || !values.agents.length) {
      const hint = make("p.none", {}, "Choose a cell of the table to see why.");
      this.parts.why.replaceChildren(hint);
      this.parts.usage.replaceChildren(hint.cloneNode(true));
    }
    if (answer.truncated) this.trouble("The file is larger than crawlers read: what lies beyond 512,000 bytes counts for nobody.");
    this.chosen(SOON);
    this.editor.mark(this.line, false);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.#say(answer.rows), 900);
  }

  // What a screen reader is told after a change: not every keystroke.
  #say(rows) {
    const cells = rows.flatMap((row) => row.cells);
    const closed = cells.filter((cell) => !cell.allowed).length;
    this.parts.said.textContent = `${closed} of ${count(cells.length, "verdict")} disallowed.`;
  }

  #showFindings(answer) {
    this.editor.setFindings(answer.findings);
    const named = Object.entries(answer.counts).filter(([, number]) => number);
    this.parts["finding-count"].textContent = named.map(([severity, number]) => (severity === "info" ? count(number, "hint") : count(number, severity))).join(", ");
    showFindings(this.parts.findings, this.editor, answer, {
      fix: (edits) => this.editor.apply(edits),
      fixAll: () => this.fixed.put({ robots: this.editor.value, dialect: this.parts.dialect.value }),
    });
  }

  #noFindings(error) {
    this.parts["finding-count"].textContent = "";
    this.parts.findings.replaceChildren(make("p.none", {}, shown(error.message)));
  }

  #listen() {
    const { parts } = this;
    for (const name of ["agents", "urls", "dialect"]) parts[name].addEventListener("input", () => this.changed());
    parts["add-agent"].addEventListener("change", () => {
      const { value } = parts["add-agent"];
      if (value) parts.agents.value = [...linesOf(parts.agents.value), value].join("\n");
      parts["add-agent"].value = "";
      this.changed();
    });
    parts.share.addEventListener("click", async () => {
      parts.share.textContent = await share(this.address, this.state);
      setTimeout(() => (parts.share.textContent = "Copy link"), 2500);
    });
    window.addEventListener("hashchange", () => this.#readAddress());
    if (this.backend.canRetrieve) {
      parts["site-form"].hidden = false;
      parts["site-form"].addEventListener("submit", (event) => {
        event.preventDefault();
        this.retrieve(parts["site-form"].elements.site.value);
      });
    }
  }

  async #readAddress() {
    try {
      const state = await readState(location.hash);
      const isOurs = state !== null && state.page !== "diff";
      if (isOurs) this.state = state;
      else this.#begin();
    } catch (error) {
      this.#begin();
      this.trouble(error.message);
    }
    this.started = true;
  }

  // The example, unless somebody was quicker than the page: then agents and URLs of the example.
  #begin() {
    if (this.started) return;
    this.table.at = EXAMPLE.at;
    this.state = this.editor.value ? { ...EXAMPLE, robots: this.editor.value } : EXAMPLE;
  }

  // Asks the server for the file of a site, and tells how that went.
  async retrieve(site) {
    if (!site.trim()) return;
    const { story } = this.parts;
    story.hidden = false;
    story.replaceChildren(make("p", {}, `Asking ${shown(site, 100)}…`));
    try {
      const found = await this.backend.ask("site", { url: site.trim() });
      this.#tell(found);
      if (found.robots !== null) this.load(found.robots, found.url);
      this.parts.urls.value = this.parts.urls.value
        .split("\n")
        .map((line) => (line.trim() ? found.origin + line.trim().replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "").replace(/^(?!\/)/, "/") : line))
        .join("\n");
      this.changed();
    } catch (error) {
      story.replaceChildren(make("p.wrong", {}, shown(error.message)));
    }
  }

  #tell(found) {
    const hops = found.hops.map((hop) => make("li", {}, make("span.badge", {}, String(hop.status ?? "failed")), " ", make("bdi", {}, shown(hop.url, 160)), hop.cause ? make("span.soft", {}, ` ${shown(hop.cause, 120)}`) : null));
    this.parts.story.replaceChildren(
      make("p", {}, make("strong", {}, shown(found.sentence)), ` ${shown(found.freshness)}`),
      make("ol.hops", {}, hops),
      ...found.notes.map((note) => make("p.note", {}, shown(note))),
    );
  }
}
