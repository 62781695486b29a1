/* The page of a crawl: parts that changed are replaced as the service sends them.

   The service has made them: nothing from a site is markup in them. A part in which somebody has
   the focus, or has selected text, waits until he is done. */

const page = document.getElementById("crawl");
const waiting = new Map();

function isInUse(part) {
  if (part.contains(document.activeElement)) return true;
  const selection = document.getSelection();
  return !selection.isCollapsed && selection.containsNode(part, true);
}

function show() {
  for (const [name, markup] of waiting) {
    const part = page.querySelector(`[data-part="${CSS.escape(name)}"]`);
    if (part !== null && isInUse(part)) continue;
    if (part !== null) part.innerHTML = markup;
    waiting.delete(name);
  }
}

function say(text) {
  const line = document.getElementById("said");
  if (line.textContent !== text) line.textContent = text;
}

function follow() {
  const events = new EventSource(page.dataset.events);
  events.addEventListener("open", () => {
    page.dataset.live = "yes";
    say("Live");
  });
  events.addEventListener("error", () => {
    page.dataset.live = "no"; // the browser asks again by itself
  });
  events.addEventListener("parts", (event) => {
    for (const [name, markup] of Object.entries(JSON.parse(event.data))) waiting.set(name, markup);
    show();
  });
  events.addEventListener("end", () => {
    events.close();
    page.dataset.live = "ended";
    say("The crawl has ended");
  });
  // A connection that is open keeps a browser from others: there are six for each service.
  addEventListener("pagehide", () => events.close());
}

if (page.dataset.events) {
  document.addEventListener("focusout", () => setTimeout(show));
  document.addEventListener("selectionchange", show);
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  follow();
}
