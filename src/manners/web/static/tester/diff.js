// Compare: what a change of a robots.txt does, in words, with examples and the lines that decide.

import { lineButton, make, partsOf, say, shown, written } from "./elements.js";
import { Editor, takeFiles } from "./editor.js";
import { Address, readState, share } from "./fragment.js";
import { Latest } from "./latest.js";

const PAUSE = 150; // milliseconds without typing
const NAMED = 12; // agents of a change, by name
const EXAMPLE = {
  before: "User-agent: *\nDisallow: /cart/\nDisallow: /search\nAllow: /search/help\n\nUser-agent: GPTBot\nDisallow: /\n",
  robots: "User-agent: *\nDisallow: /cart/\nDisallow: /search\nDisallow: /*.pdf$\nCrawl-delay: 5\n\nUser-agent: GPTBot\nDisallow: /private/\n",
};

export async function startDiff(root, backend) {
  const comparison = new Comparison(root, backend);
  await comparison.open();
  return comparison;
}

function namesOf(agents) {
  const named = shown(agents.slice(0, NAMED).join(", "), 600);
  return agents.length > NAMED ? `${named} and ${agents.length - NAMED} more.` : named;
}

class Comparison {
  constructor(root, backend) {
    this.parts = partsOf(root);
    this.backend = backend;
    this.address = new Address();
    const editor = (name, label) => new Editor(this.parts[name], { label, changed: () => this.changed() });
    this.before = editor("before", "robots.txt before");
    this.after = editor("after", "robots.txt after");
    this.parts.promise.textContent = backend.promise;
    const ask = (values) => backend.ask("impact", values);
    this.impact = new Latest(ask, (answer) => this.#show(answer), (error) => this.trouble(error.message));
  }

  async open() {
    const { parts } = this;
    const choices = await this.backend.ask("choices", { robots: "" });
    parts.dialect.append(...choices.dialects.map((each) => make("option", { value: each.name }, each.name)));
    for (const name of ["before", "after"]) {
      const take = (text) => {
        this[name].value = text;
        this.changed();
      };
      takeFiles(this[name].root, parts[`open-${name}`], parts[`file-${name}`], choices.limits.bytes, take, (problem) => this.trouble(problem));
    }
    parts.dialect.addEventListener("input", () => this.changed());
    parts.swap.addEventListener("click", () => {
      const state = this.state;
      this.state = { ...state, before: state.robots, robots: state.before };
    });
    parts.share.addEventListener("click", async () => {
      parts.share.textContent = await share(this.address, this.state);
      setTimeout(() => (parts.share.textContent = "Copy link"), 2500);
    });
    window.addEventListener("hashchange", () => this.#readAddress());
    await this.#readAddress();
  }

  get state() {
    return { page: "diff", before: this.before.value, robots: this.after.value, dialect: this.parts.dialect.value };
  }

  set state(state) {
    const known = [...this.parts.dialect.options].some((option) => option.value === state.dialect);
    this.parts.dialect.value = known ? state.dialect : "rfc9309";
    this.before.value = typeof state.before === "string" ? state.before : "";
    this.after.value = typeof state.robots === "string" ? state.robots : "";
    this.changed();
  }

  changed() {
    if (!this.parts.dialect.value) return; // typed before the page has started, which asks then
    this.trouble("");
    const { before, robots, dialect } = this.state;
    this.impact.put({ before, robots, dialect }, PAUSE);
    this.address.keep(this.state);
  }

  trouble(text) {
    say(this.parts.trouble, text && shown(text));
  }

  async #readAddress() {
    try {
      const state = await readState(location.hash);
      if (state?.page === "diff") this.state = state;
      else this.#begin();
    } catch (error) {
      this.#begin();
      this.trouble(error.message);
    }
    this.started = true;
  }

  // The example, unless somebody was quicker than the page.
  #begin() {
    if (this.started) return;
    const isTyped = this.before.value || this.after.value;
    this.state = isTyped ? { ...this.state, dialect: "rfc9309" } : EXAMPLE;
  }

  #show(answer) {
    const { sentences, changes } = this.parts;
    sentences.replaceChildren(make("ul.sentences", {}, answer.sentences.map((text) => make("li", {}, shown(text, 600)))));
    changes.replaceChildren(...answer.changes.map((change) => this.#change(change)));
  }

  #change(change) {
    const list = (title, kind, witnesses) =>
      witnesses.length
        ? make("div", {}, make(`h4.${kind}-text`, {}, title), make("ul.witnesses", {}, witnesses.map((witness) => this.#witness(witness))))
        : null;
    return make(
      "article.change",
      {},
      make("h3", {}, shown(change.who, 200)),
      change.agents.length > 3 ? make("p.note", {}, namesOf(change.agents)) : null,
      change.decided ? null : make("p.note", {}, "There may be more: the proof was cut short."),
      make("div.pair", {}, list("Closed", "no", change.closed), list("Opened", "ok", change.opened)),
    );
  }

  // A path whose verdict changes, with the line that decides in each file.
  #witness(witness) {
    const light = () => {
      this.before.mark(witness.before?.line ?? 0);
      this.after.mark(witness.after?.line ?? 0);
    };
    const rule = (found, editor, name) =>
      found
        ? make("span", {}, `${name} `, lineButton(editor, found.line), " ", make("code", {}, shown(found.text, 120)))
        : make("span", {}, `${name} `, make("span.soft", {}, "no rule"));
    return make(
      "li",
      {},
      make("button.path", { type: "button", onclick: light, "aria-label": `${shown(witness.path)}: show the lines that decide` }, written(witness.path)),
      make("div.sub", {}, rule(witness.before, this.before, "before:")),
      make("div.sub", {}, rule(witness.after, this.after, "after:")),
    );
  }
}
