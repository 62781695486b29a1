// The table: URLs down, agents across, a verdict in each cell. One cell can be reached by Tab; arrow
// keys move between cells, as in a spreadsheet.

import { make, shown, written } from "./elements.js";

const REASONS = {
  "no-rule-matched": "no rule",
  "no-group": "no group",
  "robots-txt-itself": "robots.txt",
  "too-many-rules": "too many rules",
};

export class VerdictTable {
  #place;
  #select;
  #open;
  #buttons = [];
  #labels = "";
  #others = null;
  #at = [0, 0];

  // `select` is called with row and column; `open` when somebody wants to see the line itself.
  constructor(place, select, open) {
    this.#place = place;
    this.#select = select;
    this.#open = open;
    place.addEventListener("keydown", (event) => this.#key(event));
  }

  get at() {
    return this.#at;
  }

  set at(place) {
    this.#choose(...place, false);
    this.#at = place; // there may be no such cell yet
  }

  // Shows the answer to a question about some agents; cells stay where they are if their labels do.
  show(agents, rows, question) {
    const labels = JSON.stringify([agents, rows.map((row) => row.url)]);
    if (labels !== this.#labels) this.#build(agents, rows);
    this.#labels = labels;
    rows.forEach((row, down) => {
      row.cells.forEach((cell, across) => fill(this.#buttons[down][across], cell, agents[across], row.url));
    });
    if (this.#others?.question === question) this.#mark(this.#others.rows); // engines were quicker
    this.#choose(...this.#at, false);
  }

  // Marks the cells in which other engines give another verdict, by their answer to a question.
  showEngines(rows, question) {
    this.#others = { rows, question };
    this.#mark(rows);
  }

  #mark(rows) {
    rows.forEach((row, down) => {
      row.forEach((names, across) => {
        const button = this.#buttons[down]?.[across];
        if (button) differ(button, names);
      });
    });
  }

  #build(agents, rows) {
    const down = Math.max(0, Math.min(this.#at[0], rows.length - 1));
    const across = Math.max(0, Math.min(this.#at[1], agents.length - 1));
    this.#at = [down, across];
    const head = make("tr", {}, make("th", { scope: "col" }, "URL"), agents.map((agent) => make("th.agent", { scope: "col" }, written(agent, 60))));
    this.#buttons = rows.map((_, row) => agents.map((_, column) => this.#button(row, column)));
    const body = rows.map((row, number) =>
      make("tr", {}, make("th.url", { scope: "row" }, urlOf(row.url)), this.#buttons[number].map((button, column) => make("td", { "data-agent": shown(agents[column], 40) }, button))),
    );
    const table = make("table.verdicts", {}, make("caption.hidden", {}, "Whether each agent may fetch each URL"), make("thead", {}, head), make("tbody", {}, body));
    const focused = this.#place.contains(document.activeElement) && document.activeElement !== this.#place;
    this.#place.replaceChildren(agents.length && rows.length ? table : make("p.none", {}, "Add an agent and a URL to see who may fetch what."));
    if (focused) this.#buttons[down]?.[across]?.focus();
  }

  #button(row, column) {
    const choose = () => this.#choose(row, column, true);
    const open = () => {
      choose();
      this.#open();
    };
    return make("button.verdict", { type: "button", tabIndex: -1, onfocus: choose, onclick: choose, ondblclick: open });
  }

  #choose(row, column, tell) {
    this.#buttons[this.#at[0]]?.[this.#at[1]]?.classList.remove("chosen");
    const before = this.#buttons[this.#at[0]]?.[this.#at[1]];
    if (before) before.tabIndex = -1;
    const button = this.#buttons[row]?.[column];
    if (!button) return;
    this.#at = [row, column];
    button.tabIndex = 0;
    button.classList.add("chosen");
    if (tell) this.#select(row, column);
  }

  #key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const isCell = event.target.classList.contains("verdict");
    if (!isCell) return;
    if (event.key === "Enter") {
      event.preventDefault();
      this.#open();
      return;
    }
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    this.#buttons[this.#at[0] + move[0]]?.[this.#at[1] + move[1]]?.focus();
  }
}

function fill(button, cell, agent, url) {
  const verdict = cell.allowed ? "allowed" : "disallowed";
  const where = cell.line ? `line ${cell.line}` : (REASONS[cell.reason] ?? cell.reason);
  button.classList.toggle("ok", cell.allowed);
  button.classList.toggle("no", !cell.allowed);
  button.dataset.said = `${shown(agent, 60)}: ${verdict}, ${where}, ${shown(url, 120)}`;
  button.title = cell.text ? shown(cell.text) : where;
  const mark = make("span.mark", {}, cell.allowed ? "✓" : "✕");
  button.replaceChildren(mark, make("span.where", {}, where), make("span.differs", {}, "≠"));
  differ(button, button.others ?? []); // what was known last, until the engines answer again
}

function differ(button, names) {
  button.others = names;
  const mark = button.querySelector(".differs");
  mark.hidden = names.length === 0;
  const said = names.length ? `; otherwise by ${names.join(", ")}` : "";
  mark.title = names.length ? `otherwise by ${names.join(", ")}` : "";
  button.setAttribute("aria-label", button.dataset.said + said);
}

// A URL with its path set off: the site is often the same in every row.
function urlOf(url) {
  const found = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(url);
  if (!found) return written(url, 200);
  return make("bdi", {}, make("span.soft", {}, shown(found[1], 80)), shown(found[2] || "/", 200));
}
