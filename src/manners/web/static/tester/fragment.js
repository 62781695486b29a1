// The state of a page in the fragment of its address: it is in every link, and reaches no server.

const PLAIN = 400; // characters that are not worth compressing
const LONGEST = 100_000; // characters of a fragment: what chats and mail programs still take
const MOST = 2 * 1024 * 1024; // characters of a state that is read

function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64(text) {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(raw, (character) => character.charCodeAt(0));
}

async function through(bytes, transform, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new Error("The link has more in it than this page reads.");
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

// The fragment for a state; empty if it would be too long for a link.
export async function writeState(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  if (bytes.length <= PLAIN) return `#t=${toBase64(bytes)}`;
  const packed = await through(bytes, new CompressionStream("deflate-raw"), Infinity);
  const fragment = `#z=${toBase64(packed)}`;
  return fragment.length > LONGEST ? "" : fragment;
}

// The state in a fragment; null if there is none. Raises for one that cannot be read.
export async function readState(fragment) {
  const found = /^#([tz])=([\w-]*)$/.exec(fragment);
  if (!found) return null;
  try {
    let bytes = fromBase64(found[2]);
    if (found[1] === "z") bytes = await through(bytes, new DecompressionStream("deflate-raw"), MOST);
    const state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return state !== null && typeof state === "object" && !Array.isArray(state) ? state : null;
  } catch (error) {
    const known = error.message.startsWith("The link");
    throw known ? error : new Error("This link is damaged: a part of it may be missing.");
  }
}

// Keeps the fragment of this page's address up to date, without new entries in the history.
export class Address {
  #timer = 0;
  fits = true;

  // Called with the state; the address changes after a pause.
  keep(state) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.write(state), 400);
  }

  async write(state) {
    clearTimeout(this.#timer);
    const fragment = await writeState(state);
    this.fits = fragment !== "";
    history.replaceState(null, "", fragment || location.pathname + location.search);
    return fragment;
  }
}

// Copies the address of a state; says what happened.
export async function share(address, state) {
  if (!(await address.write(state))) return "This file is too large for a link: send the file instead.";
  try {
    await navigator.clipboard.writeText(location.href);
    return "Link copied.";
  } catch {
    return "Copy the address of this page: it has everything in it.";
  }
}
