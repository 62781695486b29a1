// An editor with line numbers: a plain textarea, above a picture of the lines that are in sight.
//
// The textarea is the text, for keyboards, screen readers and spelling of every kind; its letters
// are transparent. Below it stand the same lines in colour. All lines are equally high and none is
// wrapped, so a file of 20,000 lines costs as much as the forty that are seen.

import { make, shown } from "./elements.js";

const HEIGHT = 21; // pixels of a line, as in tester.css
const AROUND = 6; // lines above and below those in sight
const COLOURED = 3_000; // characters of a line that is coloured; longer ones are plain
const UNDOABLE = 3_000; // characters of a change that people can undo; browsers take minutes for large ones
const LINE = /^(\s*)([^:#]*?)(\s*:\s*)([^#]*)(#.*)?$/s;
const KINDS = { "user-agent": "agent", allow: "allow", disallow: "disallow" };
const ORDER = ["error", "warning", "info"];

export class Editor {
  #changed;
  #rows = new Map();
  #first = 0;
  #frame = 0;
  #findings = new Map();
  #decides = 0;

  // `changed` is called when somebody typed, pasted or dropped a file.
  constructor(place, { label, describedBy, changed, openFinding }) {
    this.#changed = changed;
    this.openFinding = openFinding;
    this.text = make("textarea", {
      wrap: "off",
      spellcheck: false,
      autocapitalize: "off",
      autocomplete: "off",
      dir: "ltr",
      "aria-label": label,
      "aria-describedby": describedBy,
    });
    this.gutter = make("div.gutter", { "aria-hidden": "true" });
    this.ink = make("div.ink", { "aria-hidden": "true" });
    this.root = make("div.editor", {}, this.gutter, make("div.sheet", {}, this.ink, this.text));
    place.append(this.root);
    this.text.addEventListener("input", () => this.#edited());
    this.text.addEventListener("scroll", () => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(this.text);
    this.#split();
  }

  get value() {
    return this.text.value;
  }

  set value(text) {
    this.text.value = text;
    this.#findings = new Map();
    this.#decides = 0;
    this.#split();
    this.text.scrollTop = this.text.scrollLeft = 0;
  }

  get lineCount() {
    return this.lines.length - (this.lines.length > 1 && this.lines.at(-1) === "" ? 1 : 0);
  }

  // Marks the line that decides, and brings it into sight.
  mark(line, reveal = true) {
    this.#decides = line;
    if (reveal && line) this.#reveal(line);
    this.#rows.clear();
    this.#draw();
  }

  // Shows findings beside their lines.
  setFindings(findings) {
    this.#findings = new Map();
    for (const finding of findings) {
      if (!this.#findings.has(finding.line)) this.#findings.set(finding.line, []);
      this.#findings.get(finding.line).push(finding);
    }
    this.#rows.clear();
    this.#draw();
  }

  // Puts the cursor at a line, and selects it.
  go(line) {
    const at = this.lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    this.mark(line);
    this.text.focus({ preventScroll: true });
    this.text.setSelectionRange(at, at + (this.lines[line - 1] ?? "").length, "backward");
    this.#reveal(line);
    this.root.scrollIntoView({ block: "nearest" });
  }

  // Replaces parts of the text, the last first; people can undo it, unless it is large.
  apply(edits) {
    const ordered = [...edits].sort((one, two) => two[0] - one[0] || two[1] - one[1]);
    const size = ordered.reduce((sum, [start, end, text]) => sum + text.length + end - start, 0);
    const top = this.text.scrollTop;
    this.text.focus({ preventScroll: true });
    for (const [start, end, text] of ordered) {
      this.text.setSelectionRange(start, end);
      const done = size <= UNDOABLE && document.execCommand?.(text ? "insertText" : "delete", false, text);
      if (!done) this.text.setRangeText(text, start, end, "end");
    }
    this.text.scrollTop = top;
    this.#edited();
  }

  // Replaces the text by another one: what differs, as if somebody had typed it.
  replace(text) {
    const before = this.text.value;
    const least = Math.min(before.length, text.length);
    let start = 0;
    while (start < least && before[start] === text[start]) start += 1;
    let same = 0;
    while (same < least - start && before.at(-1 - same) === text.at(-1 - same)) same += 1;
    this.apply([[start, before.length - same, text.slice(start, text.length - same)]]);
  }

  #edited() {
    this.#findings = new Map();
    this.#decides = 0;
    this.#split();
    this.#changed();
  }

  #split() {
    this.lines = this.text.value.split("\n");
    this.gutter.style.width = `${Math.max(2, String(this.lines.length).length) + 2.6}ch`;
    this.#rows.clear();
    this.#draw();
  }

  #reveal(line) {
    const top = (line - 1) * HEIGHT;
    const height = this.text.clientHeight;
    if (top < this.text.scrollTop + HEIGHT || top > this.text.scrollTop + height - 3 * HEIGHT) {
      this.text.scrollTop = Math.max(0, top - height / 3);
    }
    this.text.scrollLeft = 0;
  }

  #draw() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  #paint() {
    const { scrollTop, scrollLeft, clientHeight } = this.text;
    const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - AROUND);
    const last = Math.min(this.lines.length, Math.ceil((scrollTop + clientHeight) / HEIGHT) + AROUND);
    if (first !== this.#first || this.#rows.size !== last - first || !this.#rows.has(first)) {
      const rows = new Map();
      for (let at = first; at < last; at += 1) rows.set(at, this.#rows.get(at) ?? this.#row(at));
      this.#rows = rows;
      this.#first = first;
      this.gutter.replaceChildren(make("div", {}, [...rows.values()].map((row) => row.number)));
      this.ink.replaceChildren(make("div", {}, [...rows.values()].map((row) => row.ink)));
    }
    const down = first * HEIGHT - scrollTop;
    this.gutter.firstChild.style.transform = `translateY(${down}px)`;
    this.ink.firstChild.style.transform = `translate(${-scrollLeft}px, ${down}px)`;
  }

  #row(at) {
    const findings = this.#findings.get(at + 1) ?? [];
    const worst = ORDER.find((severity) => findings.some((each) => each.severity === severity));
    const decides = at + 1 === this.#decides ? ".decides" : "";
    const number = make(`div.number-cell${worst ? `.${worst}` : ""}${decides}`, {}, String(at + 1));
    if (worst) {
      number.title = findings.map((each) => shown(each.message)).join("\n");
      number.addEventListener("click", () => this.openFinding?.(findings[0]));
    }
    return { number, ink: make(`div.row${decides}`, {}, coloured(this.lines[at] ?? "", findings)) };
  }
}

// A line as pieces with the classes of what they are, and of the findings below them.
function coloured(line, findings) {
  if (line.length > COLOURED) return [line];
  const classes = [];
  const paint = (from, to, name) => {
    for (let at = from; at < to; at += 1) classes[at] = `${classes[at] ?? ""} ${name}`;
  };
  const found = LINE.exec(line);
  if (found) {
    const key = found[1].length + found[2].length;
    const value = key + found[3].length;
    const kind = KINDS[found[2].toLowerCase()] ?? "other";
    paint(0, key, `key ${kind}`);
    paint(value, value + found[4].length, `value ${kind}`);
    if (found[5]) paint(line.length - found[5].length, line.length, "comment");
  } else if (line.trimStart().startsWith("#")) {
    paint(0, line.length, "comment");
  }
  for (const finding of findings) {
    const to = finding.to ?? line.length;
    paint(finding.from, Math.min(line.length, Math.max(to, finding.from + 1)), `under ${finding.severity}`);
  }
  const pieces = [];
  for (let from = 0, at = 1; at <= line.length; at += 1) {
    if (at === line.length || classes[at] !== classes[from]) {
      pieces.push(make("span", { className: classes[from] ?? "" }, line.slice(from, at)));
      from = at;
    }
  }
  return pieces;
}

// Takes files that are dropped on a place, or chosen with a button.
export function takeFiles(place, button, input, limit, take, refuse) {
  const open = async (file) => {
    if (!file) return;
    if (file.size > limit) {
      refuse(`This file has more than ${limit.toLocaleString("en")} bytes: crawlers read half of that at most.`);
      return;
    }
    take(new TextDecoder().decode(await file.arrayBuffer()), file.name);
  };
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    open(input.files[0]);
    input.value = "";
  });
  for (const kind of ["dragover", "dragenter"]) {
    place.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      place.classList.add("over");
    });
  }
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    place.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
}
