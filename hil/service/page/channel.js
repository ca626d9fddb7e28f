// One arm's channel: hello and welcome, numbered questions with answers, the lab's clock, and coming back after a loss.
// What moved before a loss never goes on by itself: whoever is told of the loss lets go.
import { Refusal } from "./access.js";
import { pause } from "./arm.js";

const SPEAKS = [1, 2], ANSWER_S = 5;
// A stop that no answer came to, it may have been lost with its line, is sent on the next one, if that comes soon; after
// that it would surprise.
const STOP_KEPT_S = 10;
// Of the arm, under the lease: arm and epoch belong to it, and of a command when it was asked for and by which picture.
const UNDER_LEASE = new Set(["beat", "renew", "release"]);
const PLAIN = new Set(["hello", "watch", "stop", "emergency_stop", "supply_cut", "claim", "leave_queue",
  "take_over", "freeze", "thaw", "tell"]);

export class Channel {
  // address: of the WebSocket. hello: gives what is said first. heard: gets every message. lost: the line is gone.
  constructor({ address, hello, heard, lost, picture = () => null, now = () => performance.now() / 1000 }) {
    Object.assign(this, { address, hello, heard, lost, picture, now });
    this.welcome = this.socket = this.stopping = null;
    this.epoch = 0;
    this.seq = this.tries = 0;
    this.ahead = null;
    this.heardAt = -Infinity;
    this.open_ = new Map();
    this.over = false;
  }

  get connected() {
    return this.socket !== null && this.socket.readyState === 1 && this.welcome !== null;
  }

  // The lab's clock as far as it is known here: late by the way of its newest message, never early.
  get now_s() {
    return this.ahead === null ? 0 : this.ahead + this.now();
  }

  open() {
    this.close_();
    this.over = false;
    this.seq = 0;
    const socket = this.socket = new WebSocket(this.address);
    socket.onopen = () => this.send("hello", { speaks: SPEAKS, ...this.hello() });
    socket.onmessage = (event) => this.take(JSON.parse(event.data));
    socket.onclose = () => this.gone();
  }

  // For good, or until `open`.
  close() {
    this.over = true;
    clearTimeout(this.later);
    this.close_();
  }

  // As if the line were gone: one that says nothing.
  break_off() {
    const socket = this.socket;
    if (socket === null) return;
    socket.onclose = socket.onmessage = null;
    socket.close();
    this.gone();
  }

  close_() {
    clearTimeout(this.later);
    if (this.socket) {
      this.socket.onclose = this.socket.onmessage = this.socket.onopen = null;
      this.socket.close();
    }
    this.forget();
  }

  forget() {
    this.socket = this.welcome = null;
    const waiting = [...this.open_.values()];
    this.open_.clear();
    for (const { fail, timer } of waiting) {
      clearTimeout(timer);
      fail(new Refusal({ code: "unavailable", reason: "the connection was lost before the answer came" }));
    }
  }

  gone() {
    this.forget();
    clearTimeout(this.later);
    // First of all: whatever becomes of what is told of the loss, there has to be a line again.
    if (!this.over) {
      this.later = setTimeout(() => this.open(), pause(this.tries));
      this.tries += 1;
    }
    this.lost();
  }

  take(message) {
    this.heardAt = this.now();
    if (typeof message.now_s === "number") this.ahead = message.now_s - this.heardAt;
    if (message.type === "welcome") {
      this.tries = 0;
      this.welcome = message;
      if (this.stopping && this.now() - this.stopping.at >= STOP_KEPT_S) this.stopping = null;
      if (this.stopping) this.stopping.seq = this.send("stop", { reason: this.stopping.reason });
    } else if (message.type === "lease") {
      this.epoch = message.lease.epoch;
    } else if (message.type === "accepted" || message.type === "refused") {
      // 0 is the answer to what could not be read.
      if (this.stopping && message.to && message.to === this.stopping.seq) this.stopping = null;
      const waiting = this.open_.get(message.to);
      this.open_.delete(message.to);
      if (waiting) {
        clearTimeout(waiting.timer);
        if (message.type === "accepted") waiting.done(message);
        else waiting.fail(new Refusal(message));
        message.asked = true;
      }
    }
    this.heard(message);
  }

  // Number of the message; 0 where there is no line.
  send(type, fields = {}) {
    if (!this.socket || this.socket.readyState !== 1) return 0;
    this.seq += 1;
    const known = {};
    if (!PLAIN.has(type) && this.welcome) {
      known.arm = this.welcome.arm;
      known.epoch = this.epoch;
      if (!UNDER_LEASE.has(type) || type === "beat") known.issued_s = this.now_s;
      if (!UNDER_LEASE.has(type)) known.picture_s = this.picture();
    }
    this.socket.send(JSON.stringify({ type, v: 1, seq: this.seq, ...known, ...fields }));
    return this.seq;
  }

  ask(type, fields = {}, withinS = ANSWER_S) {
    return new Promise((done, fail) => {
      const seq = this.send(type, fields);
      if (!seq) {
        fail(new Refusal({ code: "unavailable", reason: "there is no connection" }));
        return;
      }
      const timer = setTimeout(() => {
        this.open_.delete(seq);
        fail(new Refusal({ code: "unavailable", reason: `no answer within ${withinS} s` }));
      }, withinS * 1000);
      this.open_.set(seq, { done, fail, timer });
    });
  }

  // Whether it is on its way; kept for the next line until an answer has come.
  stop(reason) {
    const seq = this.send("stop", { reason });
    this.stopping = { reason, at: this.now(), seq };
    return seq > 0;
  }

  // It was meant for the arm that this channel was of.
  forgetStop() {
    this.stopping = null;
  }
}
