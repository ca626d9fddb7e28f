// The newest picture, its age, and the time at which it was taken: commands say by which picture they were asked for.
import { at, write } from "./dom.js";
import { pictureWords } from "./arm.js";

const AGAIN_MS = 100, LATER_MS = 1000;

export class Camera {
  // ask(path): over HTTP. looked(): whether somebody looks. tell: words.
  constructor({ ask, looked, tell }) {
    Object.assign(this, { ask, looked, tell });
    this.arm = "";
    this.url = "";
    this.taken = null;
    this.lookedAt = performance.now();
    this.follow();
  }

  // The picture of another arm, or from before a line was lost, is not this arm now.
  forget(arm) {
    this.arm = arm;
    this.taken = null;
    this.lookedAt = performance.now();
    at("picture").removeAttribute("src");
  }

  look() {
    this.lookedAt = performance.now();
  }

  async follow() {
    for (;;) {
      const arm = this.arm;
      try {
        if (!arm || !this.looked()) throw new Error("nobody looks");
        const after = this.taken === null ? "" : `?after=${this.taken}`;
        const response = await this.ask(`arms/${encodeURIComponent(arm)}/picture${after}`);
        const fresh = URL.createObjectURL(await response.blob());
        if (arm === this.arm) {
          at("picture").src = fresh;
          this.taken = Number(response.headers.get("Picture-Taken-S"));
        }
        if (this.url) URL.revokeObjectURL(this.url);
        this.url = fresh;
        await new Promise((go) => setTimeout(go, AGAIN_MS));
      } catch {
        await new Promise((go) => setTimeout(go, LATER_MS));
      }
    }
  }

  age(now_s) {
    return this.taken === null ? null : Math.max(0, now_s - this.taken);
  }

  // now_s: the lab's clock. newest: age of the camera's newest picture, as the lab says.
  show(now_s, newest) {
    const found = pictureWords(this.age(now_s), newest, (performance.now() - this.lookedAt) / 1000);
    const warning = found.warning ? this.tell(...found.warning) : "";
    write(at("age"), this.tell(...found.age));
    at("picture").classList.toggle("old", warning !== "");
    // Told anew only when it changes: it is read aloud.
    write(at("hang"), warning);
  }
}
