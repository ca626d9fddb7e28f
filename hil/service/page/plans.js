// Tasks and programs: written or dropped here, previewed by the lab, scrubbed through, and sent by two presses: the first
// arms, and the second one is held while the arm moves.
import { at, download, enable, made, write } from "./dom.js";

const MOST_BYTES = 1 << 20, MOST_LISTED = 20;

// What is left of each limit at one sample: [{name, subject, margin, unit}], the least first.
export function marginsAt(timeline, index) {
  return timeline.lanes.filter((lane) => lane.margins[index] != null).map((lane) => ({
    name: lane.name, subject: lane.subjects[lane.which[index]] || "", margin: lane.margins[index], unit: lane.unit,
  })).sort((a, b) => a.margin - b.margin);
}

// Where the file is at one sample; empty between its places.
export function placeAt(timeline, sample) {
  const found = timeline.stages.find((stage) => stage.first <= sample && sample <= stage.last);
  return found ? found.label || found.place : "";
}

export class Plans {
  // ask(path, options): over HTTP. arm(): its name. tell: words. say(refusal or key). armFor(digest). scrubbed(positions).
  constructor(options) {
    Object.assign(this, options);
    this.digest = this.armed = "";
    this.timeline = this.awaited = null;
    at("preview").addEventListener("click", () => this.preview());
    at("text").addEventListener("input", () => this.forget());
    at("points").addEventListener("input", () => this.forget());
    at("kindof").addEventListener("change", () => {
      this.kind();
      this.forget();
    });
    at("file").addEventListener("change", () => this.read([...at("file").files]));
    at("save").addEventListener("click", () => download(this.name, at("text").value, "text/plain"));
    at("scrub").addEventListener("input", () => this.scrub());
    at("armit").addEventListener("click", () => this.armIt());
    const drop = at("tasks");
    drop.addEventListener("dragover", (event) => event.preventDefault());
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      this.read([...event.dataTransfer.files]);
    });
  }

  get name() {
    return at("kindof").value === "melfa" ? "program.mb4" : "task.toml";
  }

  async read(files) {
    for (const file of files) {
      if (file.size > MOST_BYTES) {
        this.say("too_long");
        continue;
      }
      const text = await file.text();
      if (/\.pos$/i.test(file.name)) at("points").value = text;
      else {
        at("text").value = text;
        at("kindof").value = /\.(mb4|prg|bas)$/i.test(file.name) ? "melfa" : "task";
      }
    }
    this.kind();
    this.forget();
  }

  // A task has no positions of its own.
  kind() {
    at("points").hidden = at("kindof").value !== "melfa";
  }

  // What was previewed is not what is written now, and an answer that is still to come is not about it either.
  forget() {
    this.digest = this.armed = "";
    this.timeline = this.awaited = null;
    write(at("verdict"), "");
    at("findings").replaceChildren();
    at("margins").replaceChildren();
    this.scrubbed(null);
    this.changed();
  }

  async preview() {
    this.forget();
    const mine = this.awaited = {};
    const language = at("kindof").value, text = at("text").value, points = language === "melfa" ? at("points").value : "";
    write(at("verdict"), this.tell("previewing"));
    enable(at("preview"), false);
    const begun = performance.now(), ticking = setInterval(() => write(at("since"), `${((performance.now() - begun) / 1000).toFixed(0)} s`), 1000);
    try {
      const body = { v: 1, arm: this.arm(), language, name: "browser", text, points };
      const verdict = await (await this.ask("previews", { method: "POST", body })).json();
      if (this.awaited === mine) await this.show(verdict, mine);
    } catch (refusal) {
      if (this.awaited !== mine) return;
      write(at("verdict"), "");
      this.say(refusal);
    } finally {
      clearInterval(ticking);
      write(at("since"), "");
      enable(at("preview"), true);
    }
  }

  async show(verdict, mine) {
    this.digest = verdict.ok ? verdict.digest : "";
    write(at("verdict"), verdict.ok ? this.tell("passed", verdict.duration_s.toFixed(1), Math.round(100 * verdict.peak_share)) : this.tell("failed"));
    at("verdict").dataset.ok = String(verdict.ok);
    const lines = [...(verdict.refusals || []).map(inWords), ...(verdict.notes || [])].slice(0, MOST_LISTED);
    at("findings").replaceChildren(...lines.map((words) => made("li", { textContent: words, lang: "en" })));
    this.changed();
    if (!verdict.timeline) return;
    try {
      const path = `arms/${encodeURIComponent(this.arm())}/timelines/${encodeURIComponent(verdict.timeline)}`;
      const timeline = await (await this.ask(path)).json();
      if (this.awaited !== mine) return;
      this.timeline = timeline;
      at("scrub").max = String(this.timeline.samples.length - 1);
      const bad = this.timeline.failures && this.timeline.failures[0];
      at("scrub").value = String(bad ? Math.max(0, this.timeline.samples.findIndex((sample) => sample >= bad.worst)) : 0);
      this.scrub();
    } catch (refusal) {
      if (this.awaited === mine) this.say(refusal);
    }
    this.changed();
  }

  scrub() {
    if (!this.timeline) return;
    const index = Number(at("scrub").value), { samples, period_s: period, positions } = this.timeline;
    const place = placeAt(this.timeline, samples[index]);
    const when = this.tell("at_time", (samples[index] * period).toFixed(2));
    write(at("moment"), place ? `${when} ${place}` : when);
    at("scrub").setAttribute("aria-valuetext", at("moment").textContent);
    at("margins").replaceChildren(...marginsAt(this.timeline, index).slice(0, 6).map(({ name, subject, margin, unit }) => made("li",
      { class: margin < 0 ? "bad" : "", textContent: `${name}${subject ? ` ${subject}` : ""}: ${Number(margin.toPrecision(3))} ${unit}`, lang: "en" })));
    this.scrubbed(positions[index]);
  }

  async armIt() {
    const digest = this.digest;
    try {
      await this.armFor(digest);
      if (this.digest === digest) this.armed = digest;
    } catch (refusal) {
      this.say(refusal);
    }
    this.changed();
  }

  // driving: whether we may drive and nothing moves. mode: of the arm; what is no more armed needs the first press again.
  allow(driving, mode) {
    if (this.armed && mode !== "armed" && mode !== "streaming" && performance.now() - this.armedAt > 1500) this.armed = "";
    enable(at("scrub"), this.timeline !== null);
    enable(at("armit"), driving && this.digest !== "" && this.armed === "");
    enable(at("run"), driving && this.armed !== "");
    enable(at("save"), at("text").value !== "");
  }

  get armed() {
    return this.armed_;
  }

  set armed(digest) {
    this.armed_ = digest;
    this.armedAt = performance.now();
  }
}

// A finding, as the lab words it elsewhere too.
export function inWords({ check, subject, limit, margin, unit, nearest_allowed: nearest, advice, sample, time_s: time, place }) {
  const where = `${place ? `${place}: ` : ""}${sample == null ? "" : `${time.toFixed(2)} s: `}`;
  return `[${check}] ${where}${subject}: ${limit}, margin ${Number(margin.toPrecision(3))} ${unit}; nearest allowed: ${nearest}. ${advice}`;
}
