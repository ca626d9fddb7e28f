// One arm on the wall: its channel, its picture or its lines, what is so, and what its teacher may do.
import { pictureWords, shown } from "./arm.js";
import { Channel } from "./channel.js";
import { clock, level } from "./differences.js";
import { made, write } from "./dom.js";
import { lamp } from "./lamp.js";
import { acts, alarm, faultWords, worst } from "./wall_state.js";
import { makeWireScene } from "./wire_scene.js";

const RATE_HZ = 4, AGAIN_MS = 500, LATER_MS = 2000;

export class Cell {
  // number: its key, from 1. access: who asks. tell: words. answer(arm, refusal or null): what came of a press.
  // ask(cell, question, withWords): a promise of what was typed, or of null. loud(words): to be heard.
  // shut(): the token does not count any more.
  constructor({ arm, number, access, tell, answer, ask, loud, shut }) {
    Object.assign(this, { arm, access, tell, answer, ask, loud, shut });
    this.seen = this.presence = this.taken = this.scene = null;
    this.seenAt = this.presentAt = 0;
    this.fault = this.said = this.url = "";
    this.lookedAt = performance.now();
    this.waiting = this.closed = false;
    this.build(number);
    const address = new URL("v1/channel", document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.channel = new Channel({
      address, hello: () => ({ arm, token: access.token, name: access.name, client: "wall" }), heard: (message) => this.take(message),
      lost: () => this.soon(), picture: () => this.taken,
    });
    this.channel.open();
    this.follow();
  }

  build(number) {
    const part = (name, words) => {
      this[name] = made("p", { class: `line ${words}` });
      return this[name];
    };
    const button = (name, words, act) => {
      this[name] = made("button", { type: "button", class: name, hidden: name !== "stop", data: { words } });
      // A stop counts when it is pressed, not when it is let go of.
      this[name].addEventListener(name === "stop" ? "pointerdown" : "click", act);
      if (name === "stop") this[name].addEventListener("click", (event) => event.detail === 0 && act());
      return this[name];
    };
    this.lamp = made("span", { class: "lamp", "aria-hidden": "true" });
    this.state = made("span", { class: "state" });
    this.kind = made("span", { class: "kind" });
    this.name = made("h2", { textContent: this.arm, id: `arm-${number}` });
    this.open = made("a", { textContent: this.arm, href: `./#${encodeURIComponent(this.arm)}` });
    this.name.replaceChildren(this.open);
    this.sight = made("div", { class: "sight" });
    this.worst = made("span", { class: "line worst" });
    this.used = made("span", { class: "used" });
    this.error = made("div", { class: "error" }, this.worst, made("span", { class: "band" }, this.used));
    const head = made("header", {}, made("span", { class: "number", textContent: String(number), "aria-hidden": "true" }), this.lamp, this.name, this.kind, this.state);
    this.part = made("article", { class: "cell", tabIndex: -1, "aria-labelledby": `arm-${number}` }, head, this.sight,
      part("driver", ""), part("queue", ""), this.error, part("age", ""), part("why", "why"),
      made("div", { class: "acts" }, button("stop", "stop", () => this.halt()), button("takes", "take", () => this.takeOver()),
        button("tells", "tell", () => this.say()), button("resets", "reset", () => this.order("reset"))));
    this.why.lang = "en";
  }

  // -- what comes ----------------------------------------------------------------------------------------

  take(message) {
    if (message.type === "welcome") {
      this.rights = acts(message.role);
      this.takes.hidden = !this.rights.take;
      this.tells.hidden = !this.rights.tell;
      this.resets.hidden = !this.rights.reset;
      this.seen = this.presence = null;
      this.channel.send("watch", { rate_hz: document.hidden ? 0 : RATE_HZ });
      this.look();
    } else if (message.type === "telemetry") {
      this.seen = message;
      this.seenAt = performance.now();
      if (message.lamp !== "fault" && message.lamp !== "estop") this.fault = "";
    } else if (message.type === "presence") {
      this.presence = message;
      this.presentAt = performance.now();
    } else if (message.type === "notice" && message.kind === "loop") {
      this.fault = faultWords(message.text) || this.fault;
    } else if (message.type === "bye" && message.code === "token") {
      // Asking again for ever brings nothing.
      this.channel.close();
      this.shut();
    }
    this.soon();
  }

  watch() {
    this.lookedAt = performance.now();
    this.channel.send("watch", { rate_hz: document.hidden ? 0 : RATE_HZ });
  }

  async look() {
    const { camera } = this.channel.welcome;
    if (camera) {
      this.picture = this.picture || made("img", { alt: "" });
      this.sight.replaceChildren(this.picture);
      return;
    }
    try {
      const skeleton = await (await this.access.ask(`arms/${encodeURIComponent(this.arm)}/skeleton`)).json();
      if (this.scene) this.scene.close();
      this.scene = makeWireScene(this.sight, { skeleton, words: this.tell });
    } catch { /* it goes without */ }
  }

  async follow() {
    while (!this.closed) {
      try {
        if (!this.channel.connected || !this.channel.welcome.camera || document.hidden) throw new Error("nobody looks");
        const after = this.taken === null ? "" : `?after=${this.taken}`;
        const response = await this.access.ask(`arms/${encodeURIComponent(this.arm)}/picture${after}`);
        const fresh = URL.createObjectURL(await response.blob());
        this.picture.src = fresh;
        this.taken = Number(response.headers.get("Picture-Taken-S"));
        if (this.url) URL.revokeObjectURL(this.url);
        this.url = fresh;
        await new Promise((go) => setTimeout(go, AGAIN_MS));
      } catch {
        await new Promise((go) => setTimeout(go, LATER_MS));
      }
    }
  }

  close() {
    this.closed = true;
    this.channel.close();
    if (this.scene) this.scene.close();
    this.part.remove();
  }

  // -- what is asked for ---------------------------------------------------------------------------------

  // Whether it is on its way.
  halt() {
    const sent = this.channel.stop("asked for on the wall");
    this.answer(this.arm, sent ? null : "stop_waits");
    return sent;
  }

  order(type, fields = {}) {
    this.channel.ask(type, fields).then(() => this.answer(this.arm, null), (refusal) => this.answer(this.arm, refusal));
  }

  async takeOver() {
    const holder = (this.seen && this.seen.lease.holder) || this.tell("somebody");
    const yes = await this.ask(this, this.tell("take_ask", this.arm, holder), false);
    if (yes !== null) this.order("take_over", { reason: "asked for on the wall" });
  }

  async say() {
    const words = await this.ask(this, this.tell("tell_ask", this.arm), true);
    if (words) this.order("tell", { v: 2, text: words });
  }

  // -- showing -------------------------------------------------------------------------------------------

  soon() {
    if (this.waiting || document.hidden) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.show();
    });
  }

  show() {
    const { channel, seen, presence, tell } = this, now = performance.now(), ageMs = now - this.seenAt;
    const word = lamp({ connected: channel.connected, ageMs, seen, presence });
    const startingS = presence && presence.starting_s != null ? presence.starting_s + (now - this.presentAt) / 1000
      : seen && seen.starting_s != null ? seen.starting_s : null;
    this.lamp.dataset.state = word;
    write(this.state, word === "starting" && startingS !== null ? tell("comes_up", startingS.toFixed(0)) : tell(`lamp_${word}`));
    if (channel.welcome) write(this.kind, tell(channel.welcome.real ? "real" : "fake"));
    const old = word === "off" || word === "waiting" || word === "old" || word === "away" || word === "starting";
    this.part.classList.toggle("old", old);
    const { loud, why } = alarm(word, seen, this.fault);
    this.part.classList.toggle("loud", loud);
    if (this.why.title !== why) this.why.title = why;
    write(this.why, loud ? why : presence && presence.words && word === "away" ? presence.words
      : word === "old" && seen ? tell("old_for", (ageMs / 1000).toFixed(0)) : "");
    // Heard once, when it begins or is another one.
    const said = loud ? `${this.arm}: ${tell(`lamp_${word}`)}. ${why}` : "";
    if (said && said !== this.said) this.loud(said);
    this.said = said;
    if (seen) this.facts(seen);
    this.pictureAge();
    if (this.scene && seen) {
      const known = !["unknown", "away", "starting"].includes(word);
      this.scene.show({ commanded: seen.commanded, reported: seen.reported, known, stale: old });
    }
  }

  facts(seen) {
    const { tell } = this, { lease } = seen;
    const left = lease.slot_left_s == null ? "" : `, ${tell("left_time", clock(lease.slot_left_s))}`;
    write(this.driver, lease.phase === "held" ? `${tell("drives_now", lease.holder || tell("somebody"))}${left}`
      : lease.kept_s == null ? tell("nobody") : tell("kept", lease.holder || tell("somebody"), lease.kept_s.toFixed(0)));
    write(this.queue, tell("queue_of", lease.waiting));
    const axes = this.channel.welcome ? this.channel.welcome.axes : [], found = axes.length ? worst(axes, seen) : null;
    const axis = found ? axes[found.index] : null;
    write(this.worst, found ? tell("error_of", found.name, shown(axis, found.error), shown(axis, found.band)) : tell("error_none"));
    const width = `${found ? Math.min(100, 100 * found.used).toFixed(0) : 0}%`, mark = found ? level(found.used) : "";
    if (this.used.style.width !== width) this.used.style.width = width;
    this.error.classList.toggle("near", mark === "near");
    this.error.classList.toggle("over", mark === "over");
  }

  pictureAge() {
    if (!this.channel.welcome || !this.channel.welcome.camera || !this.picture) return;
    const age = this.taken === null ? null : Math.max(0, this.channel.now_s - this.taken);
    const found = pictureWords(age, this.seen ? this.seen.picture_age_s : null, (performance.now() - this.lookedAt) / 1000);
    write(this.age, found.warning ? this.tell(...found.warning) : this.tell(...found.age));
    this.picture.classList.toggle("old", found.warning !== null);
  }
}
