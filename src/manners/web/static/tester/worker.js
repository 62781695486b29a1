// Python in a worker: our own engine, in the browser. Started with the files of Pyodide and of this
// package; then each message is a question, and each reply its answer. Nothing is ever loaded.

let python = null;

async function unpacked({ base64, gzip }) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : decoded(base64);
  if (!gzip) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decoded(base64) {
  const raw = atob(base64);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

function module(bytes) {
  return import(URL.createObjectURL(new Blob([bytes], { type: "text/javascript" })));
}

async function start(files) {
  const names = Object.keys(files);
  const bodies = await Promise.all(names.map((name) => unpacked(files[name])));
  const file = Object.fromEntries(names.map((name, at) => [name, bodies[at]]));
  const [pyodide, machine] = await Promise.all([module(file["pyodide.mjs"]), module(file["pyodide.asm.mjs"])]);
  // What Pyodide would load is answered from memory; everything else is refused.
  self.fetch = async (what) => {
    const url = String(what?.url ?? what);
    const [name, type] = url.endsWith(".wasm") ? ["pyodide.asm.wasm", "application/wasm"] : ["python_stdlib.zip", "application/zip"];
    if (!url.endsWith(name)) throw new TypeError(`nothing is loaded here: ${url}`);
    return new Response(file[name], { headers: { "Content-Type": type } });
  };
  python = await pyodide.loadPyodide({
    createPyodideModule: machine.default,
    indexURL: "https://memory.invalid/",
    packageBaseUrl: "https://memory.invalid/",
    stdLibURL: "https://memory.invalid/python_stdlib.zip",
    lockFileContents: new TextDecoder().decode(file["pyodide-lock.json"]),
  });
  python.unpackArchive(file["manners.zip"], "zip", { extractDir: "/manners" });
  python.runPython("import sys; sys.path.insert(0, '/manners')");
  const answer = python.runPython(`
import json
from manners.tester import BadQuestion, answer
def reply(name, values):
    try:
        return json.dumps({"answer": answer(name, json.loads(values))})
    except BadQuestion as error:
        return json.dumps({"problem": str(error)})
reply
`);
  return (name, values) => JSON.parse(answer(name, JSON.stringify(values)));
}

let answering = null;
self.onmessage = async ({ data }) => {
  try {
    if (data.files) answering = start(data.files);
    const answer = await answering;
    if (data.files) self.postMessage({ started: true });
    else self.postMessage({ number: data.number, ...answer(data.name, data.values) });
  } catch (error) {
    self.postMessage({ number: data.number, problem: `Python failed: ${error.message}` });
  }
};
