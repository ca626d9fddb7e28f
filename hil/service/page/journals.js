// Journals of motion, to keep: those that the lab lets this person have.
import { at, download, made } from "./dom.js";

const MOST = 50;

export class Journals {
  // ask: over HTTP. tell: words. say(refusal).
  constructor(options) {
    Object.assign(this, options);
    at("records").addEventListener("toggle", () => at("records").open && this.load());
  }

  async load() {
    try {
      const { journals } = await (await this.ask("journals")).json();
      const lines = journals.slice(-MOST).reverse().map((name) => {
        const button = made("button", { type: "button", textContent: name });
        button.addEventListener("click", () => this.get(name));
        return made("li", {}, button);
      });
      at("journals").replaceChildren(...(lines.length ? lines : [made("li", { textContent: this.tell("no_journals") })]));
    } catch (refusal) {
      at("journals").replaceChildren(made("li", { textContent: this.tell(refusal.code === "role" ? "journals_theirs" : "no_journals") }));
      if (refusal.code !== "role") this.say(refusal);
    }
  }

  async get(name) {
    try {
      download(name, await (await this.ask(`journals/${encodeURIComponent(name)}`)).blob());
    } catch (refusal) {
      this.say(refusal);
    }
  }
}
