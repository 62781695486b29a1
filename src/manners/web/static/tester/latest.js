// Asks one question at a time, and always the latest: while an answer is awaited, newer questions
// replace each other. So answers come in order, and a slow one delays, but never overtakes.

export class Latest {
  #ask;
  #show;
  #fail;
  #next = null;
  #timer = 0;
  #busy = false;

  constructor(ask, show, fail) {
    this.#ask = ask;
    this.#show = show;
    this.#fail = fail;
  }

  // Asks now, or after some milliseconds without another question.
  put(question, wait = 0) {
    this.#next = question;
    clearTimeout(this.#timer);
    if (wait > 0) this.#timer = setTimeout(() => this.#run(), wait);
    else this.#run();
  }

  async #run() {
    if (this.#busy) return;
    this.#busy = true;
    while (this.#next) {
      const question = this.#next;
      this.#next = null;
      try {
        const answer = await this.#ask(question);
        // Somebody has typed since: places in the text have moved.
        if (this.#next === null) this.#show(answer, question);
      } catch (error) {
        if (this.#next === null) this.#fail(error);
      }
    }
    this.#busy = false;
  }
}
