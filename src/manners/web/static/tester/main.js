// Starts what is on the page, with answers from the server.

import { startDiff } from "./diff.js";
import { askServer } from "./server.js";
import { startTester } from "./tester.js";

const pages = { tester: startTester, diff: startDiff };
for (const [name, start] of Object.entries(pages)) {
  const root = document.getElementById(name);
  if (root) start(root, askServer());
}
