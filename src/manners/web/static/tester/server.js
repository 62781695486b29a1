// Answers from the server that sent this page.

export function askServer() {
  return {
    promise: "The file goes to this server only, which does not keep it.",
    async ask(name, values) {
      const reply = await fetch(`/tester/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(values),
        credentials: "same-origin",
        referrerPolicy: "no-referrer",
      }).catch(() => {
        throw new Error("The server does not answer. Is it still running?");
      });
      const answer = await reply.json().catch(() => ({}));
      if (!reply.ok) throw new Error(answer.detail || answer.title || `The server answers ${reply.status}.`);
      return answer;
    },
    canRetrieve: true,
  };
}
