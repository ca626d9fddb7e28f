// What a hand asks of the arm, from its press to its end: a jog, a step, or a motion that the lab has planned. One thing
// at a time. No DOM here.
import { Refusal } from "./access.js";

const GRIP_S = 2, PLANNED_S = 60, BEGINS_S = 6, STEP_S = 20;
const ENDED = new Set(["idle", "holding", "fault", "estop", "disconnected", "unknown_pose"]);

export class Driver {
  // channel, deadMan: this page's. tell: gets what there is to say, a key with its values or a refusal. changed: something began or
  // ended. yours: whether the lease is ours.
  constructor({ channel, deadMan, tell, changed, yours, now = () => performance.now() / 1000 }) {
    Object.assign(this, { channel, deadMan, tell, changed, yours, now });
    this.share = 0.25;
    this.run = null;
    this.mode = "disconnected";
    this.beatAt = this.holdAt = -Infinity;
  }

  get busy() {
    return this.run !== null;
  }

  get source() {
    return this.run ? this.run.source : null;
  }

  // -- asking ----------------------------------------------------------------------------------------------------

  // Move like `move()` says, rates, for as long as it is held.
  jog(source, move, name) {
    const run = this.begin(source, "jog", name, true);
    if (run) this.carry(run, async () => {
      await this.channel.ask("arm_jog", { speed_share: this.share });
      await this.grip(run);
      run.move = move;
      this.hold(run);
    });
    return run !== null;
  }

  // One increment, from rest to rest; nothing is held.
  step(move, name) {
    const run = this.begin("step", "step", name, false);
    if (run) this.carry(run, async () => {
      await this.channel.ask("arm_jog", { speed_share: this.share });
      await this.channel.ask("jog_step", { move });
      this.accepted(run);
    });
    return run !== null;
  }

  // What the lab plans, or has previewed, for as long as it is held.
  plan(source, type, fields, name) {
    const run = this.begin(source, "plan", name, true);
    if (run) this.carry(run, async () => {
      await this.grip(run);
      await this.channel.ask(type, fields, PLANNED_S);
      this.accepted(run);
    });
    return run !== null;
  }

  begin(source, kind, name, held) {
    if (!this.channel.connected || !this.yours()) {
      this.tell("not_driver");
      return null;
    }
    if (this.run) {
      this.tell("one_thing");
      return null;
    }
    if (held && !this.deadMan.press(source, this.now())) return null;
    this.run = { source, kind, name, held, gripped: null, move: null, acceptedAt: null, started: false };
    this.changed();
    this.beat();
    return this.run;
  }

  async carry(run, work) {
    try {
      await work();
    } catch (refusal) {
      if (this.run === run) this.end(refusal);
    }
  }

  // Until the lab counts the dead-man as held.
  grip(run) {
    return new Promise((done, fail) => {
      if (this.run !== run || !this.deadMan.hand) fail(new Refusal({ code: "deadman", reason: "let go of" }));
      else if (this.deadMan.hand.counted) done();
      else run.gripped = { done, fail, until: this.now() + GRIP_S };
    });
  }

  accepted(run) {
    if (this.run === run) run.acceptedAt = this.now();
  }

  // -- ending ----------------------------------------------------------------------------------------------------

  // The hand of this source opens.
  release(source) {
    if (this.run && this.run.held && this.run.source === source) this.finish("");
  }

  // Whatever is held ends, and why.
  end(why) {
    if (!this.run) return;
    this.tell(why);
    this.finish();
  }

  finish() {
    const run = this.run;
    this.run = null;
    this.deadMan.letGo();
    if (run.gripped) run.gripped.fail(new Refusal({ code: "deadman", reason: "let go of" }));
    if (this.channel.connected && this.yours()) {
      this.beat();
      if (run.kind === "jog") this.channel.send("jog_release");
    }
    this.changed(run);
  }

  stop(reason) {
    const sent = this.channel.stop(reason);
    if (this.run) this.finish();
    if (!sent) this.tell("stop_waits");
    return sent;
  }

  // -- time and news ---------------------------------------------------------------------------------------------

  // Every 50 ms.
  tick() {
    const now = this.now();
    if (this.run && this.run.held && !this.deadMan.hand) this.finish();
    if (!this.channel.connected) return;
    const { beat_every_s: beatS, hold_every_s: holdS } = this.channel.welcome.rules;
    if (this.yours() && now - this.beatAt >= beatS - 0.03) this.beat();
    const run = this.run;
    if (!run) return;
    if (run.move && now - this.holdAt >= holdS - 0.03) this.hold(run);
    if (run.gripped && now > run.gripped.until) {
      const failed = run.gripped;
      run.gripped = null;
      failed.fail(new Refusal({ code: "deadman", reason: `the line takes ${Math.round(1000 * this.deadMan.tripS)} ms there and back` }));
    } else if (run.acceptedAt !== null && !run.started && now - run.acceptedAt > (run.kind === "step" ? STEP_S : BEGINS_S)) {
      this.end("not_begun");
    }
  }

  beat() {
    const held = this.deadMan.held(this.channel.epoch), now = this.now();
    const asked = this.channel.welcome.rules.unchanged_s != null;
    const signs = held && asked ? this.deadMan.signs(this.channel.now_s - now) : {};
    const seq = this.channel.send("beat", { held, ...signs });
    if (seq) this.deadMan.beaten(seq, held, this.channel.epoch, now);
    this.beatAt = now;
    return held;
  }

  hold(run) {
    if (this.run !== run || !this.deadMan.held(this.channel.epoch)) return;
    run.newest = this.channel.send("jog_hold", { move: run.move() });
    this.holdAt = this.now();
  }

  heard(message) {
    const run = this.run;
    if (message.type === "beat_seen") {
      this.deadMan.seen(message, this.now());
      if (run && run.gripped && this.deadMan.hand && this.deadMan.hand.counted) {
        const { done } = run.gripped;
        run.gripped = null;
        done();
      }
    } else if (message.type === "refused" && run && run.kind === "jog" && run.move && !message.asked) {
      this.end(new Refusal(message));
    } else if (message.type === "notice") {
      this.noticed(message);
    } else if (message.type === "telemetry") {
      this.mode = message.mode;
      this.follow();
    }
  }

  noticed({ kind, text }) {
    const run = this.run;
    if (kind === "loop" && run) {
      if (text.includes("-> streaming") || text.includes("-> energising")) run.started = true;
      // A jog goes on while it is held, whatever single sample was refused: the hand can lead it back.
      if (text.startsWith("refused: ") && !(run.kind === "jog" && run.move)) {
        this.end(new Refusal({ code: "mode", reason: text.slice(9) }));
        return;
      }
      const over = / -> ([a-z_]+): /.exec(text);
      if (over && run.started && run.kind !== "jog" && ENDED.has(over[1])) this.over(over[1]);
      else if (over && run.kind === "jog" && run.move && ENDED.has(over[1])) this.end("jog_over");
    }
    this.deadMan.noticed(kind);
  }

  follow() {
    const run = this.run;
    if (!run || run.kind === "jog" || run.acceptedAt === null) return;
    if (this.mode === "streaming" || this.mode === "energising") run.started = true;
    else if (run.started && ENDED.has(this.mode)) this.over(this.mode);
  }

  over(mode) {
    this.tell(mode === "idle" || mode === "holding" ? "done" : `mode_${mode}`);
    this.finish();
  }

  lost() {
    if (this.run) this.finish();
    this.deadMan.lost();
  }
}
