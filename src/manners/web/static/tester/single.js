// The page as one file: the tester and the comparison, with answers from Python inside it.

import { startDiff } from "./diff.js";
import { say } from "./elements.js";
import { readState } from "./fragment.js";
import { askPython } from "./offline.js";
import { startTester } from "./tester.js";

const starts = { tester: startTester, diff: startDiff };
const running = {};
const backend = askPython();

async function show(name) {
  for (const each of Object.keys(starts)) {
    document.getElementById(each).hidden = each !== name;
    document.getElementById(`show-${each}`).setAttribute("aria-pressed", String(each === name));
  }
  running[name] ??= starts[name](document.getElementById(name), backend);
  await running[name];
}

async function pageOf(fragment) {
  const state = await readState(fragment).catch(() => null);
  return state?.page === "diff" ? "diff" : "tester";
}

for (const name of Object.keys(starts)) {
  document.getElementById(`show-${name}`).addEventListener("click", () => show(name));
}
window.addEventListener("hashchange", async () => show(await pageOf(location.hash)));
const starting = document.getElementById("starting");
backend.started.then(
  () => say(starting, ""),
  (error) => say(starting, `${error.message} Try a current Chromium, Firefox or Safari.`),
);
await show(await pageOf(location.hash));
