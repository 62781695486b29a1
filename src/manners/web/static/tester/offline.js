// Answers from Python in a worker, whose files are in this page.

export function askPython() {
  const files = {};
  for (const element of document.querySelectorAll("script[data-file]")) {
    files[element.dataset.file] = { base64: element.textContent, gzip: element.dataset.gzip === "1" };
    element.remove();
  }
  const source = document.getElementById("worker");
  const worker = new Worker(URL.createObjectURL(new Blob([source.textContent], { type: "text/javascript" })));
  const waiting = new Map();
  let last = 0;
  const started = new Promise((resolve, reject) => {
    worker.addEventListener("message", ({ data }) => {
      if (data.started) resolve();
      else if (data.number === undefined) reject(new Error(data.problem));
      else {
        const { resolve: done, reject: fail } = waiting.get(data.number);
        waiting.delete(data.number);
        if (data.problem) fail(new Error(data.problem));
        else done(data.answer);
      }
    });
    worker.addEventListener("error", (event) => reject(new Error(event.message || "This browser cannot start Python.")));
  });
  worker.postMessage({ files });
  return {
    promise: "Everything runs in this page: nothing is sent anywhere.",
    started,
    ask(name, values) {
      last += 1;
      const number = last;
      return new Promise((resolve, reject) => {
        waiting.set(number, { resolve, reject });
        worker.postMessage({ number, name, values });
      });
    },
    canRetrieve: false,
  };
}
