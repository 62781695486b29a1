// Elements made of text. Whatever a file or a site wrote goes through `shown` into a text node:
// nothing here, or anywhere in these pages, takes markup.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const MARKS = /(\p{M}{4})\p{M}+/gu;

// A text that controls nothing: directions, line ends and other invisible characters are spelled out.
export function shown(text, most = 300) {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut
    .replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`)
    .replace(MARKS, "$1");
}

// An element with properties, a class and children; children that are texts stay texts.
export function make(kind, properties = {}, ...children) {
  const [name, ...classes] = kind.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && !key.includes("-")) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return element;
}

// What a file or a site wrote, as it is to be read: apart from the direction of the text around it.
export function written(text, most) {
  return make("bdi", {}, shown(text, most));
}

export function count(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}

// The parts of a page, by the name in `data-part`.
export function partsOf(root) {
  const parts = {};
  for (const element of root.querySelectorAll("[data-part]")) parts[element.dataset.part] = element;
  return parts;
}

// A button that leads to a line of an editor.
export function lineButton(editor, line, text = `line ${line}`) {
  const label = `${text}: go to line ${line} of the file`;
  return make("button.line-link", { type: "button", "aria-label": label, onclick: () => editor.go(line) }, text);
}

export function say(element, text) {
  element.textContent = text;
  element.hidden = text === "";
}
