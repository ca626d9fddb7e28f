// Slots of an arm: those that are booked, the next free one, one at a time of day, and giving one's own back.
import { at, enable, made, write } from "./dom.js";

export class Calendar {
  // ask: over HTTP. arm(): its name. tell: words. language(): of the page. say(refusal).
  constructor(options) {
    Object.assign(this, options);
    at("book").addEventListener("click", () => this.book());
    at("bookings").addEventListener("toggle", () => at("bookings").open && this.load());
  }

  async load() {
    await this.with(() => this.ask(`arms/${encodeURIComponent(this.arm())}/bookings`));
  }

  async book() {
    const when = at("begin").value ? new Date(at("begin").value).getTime() / 1000 : null;
    const body = { v: 1, arm: this.arm(), begin_epoch_s: when, minutes: Number(at("minutes").value) };
    await this.with(() => this.ask("bookings", { method: "POST", body }));
  }

  async cancel(id) {
    await this.with(() => this.ask(`bookings/${encodeURIComponent(id)}`, { method: "DELETE" }));
  }

  async with(question) {
    enable(at("book"), false);
    try {
      this.show(await (await question()).json());
    } catch (refusal) {
      this.say(refusal);
    } finally {
      enable(at("book"), true);
    }
  }

  show({ bookings, why_not: why, bookable }) {
    write(at("bookable"), bookable ? "" : this.tell("not_bookable", why));
    const time = new Intl.DateTimeFormat(this.language(), { dateStyle: "short", timeStyle: "short" });
    const hour = new Intl.DateTimeFormat(this.language(), { timeStyle: "short" });
    const lines = bookings.map((slot) => {
      const [begin, end] = [slot.begin_epoch_s, slot.end_epoch_s].map((value) => new Date(value * 1000));
      const line = made("li", { data: { yours: String(slot.yours) } },
        `${time.format(begin)} – ${hour.format(end)} ${slot.yours ? this.tell("yours") : slot.name}`);
      if (slot.yours) {
        const back = made("button", { type: "button", textContent: this.tell("cancel") });
        back.addEventListener("click", () => this.cancel(slot.id));
        line.append(" ", back);
      }
      return line;
    });
    at("slots").replaceChildren(...(lines.length ? lines : [made("li", { textContent: this.tell("no_slots") })]));
  }
}
