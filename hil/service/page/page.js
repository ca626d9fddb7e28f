// The page of one arm: brings the parts together. What they do stands in their own files.
import { Access, Refusal, root } from "./access.js";
import { addressed, shown } from "./arm.js";
import { Axes, worst } from "./axes.js";
import { Calendar } from "./calendar.js";
import { Camera } from "./camera.js";
import { Channel } from "./channel.js";
import { Courses } from "./courses.js";
import { DeadMan } from "./dead_man.js";
import { clock, OLD_MS } from "./differences.js";
import { at, enable, keep, kept, made, write } from "./dom.js";
import { Driver } from "./driver.js";
import { Events } from "./events.js";
import { holdable } from "./hands.js";
import { Journals } from "./journals.js";
import { listen, meaning, numbered } from "./keys.js";
import { lamp } from "./lamp.js";
import { known, missing } from "./missing.js";
import { PadHand, wanted } from "./pad.js";
import { Plans } from "./plans.js";
import { ErrorPlot } from "./plots.js";
import { makeScene } from "./scene.js";
import { taught } from "./teach.js";
import { axisAmount, axisMove, Tool, toolMove } from "./tool.js";
import { chosen, NAMES, text } from "./words.js";

const RATE_HZ = 15, LOOK_MS = 50, SLOW_MS = 300, MORE_MINUTES = 10, REFUSED_TOGETHER_MS = 300, SPEEDS = [5, 25, 50, 100];
const STARTING = new Set(["disconnected", "connecting", "energising"]);
const now = () => performance.now() / 1000;

const access = new Access();
let language = chosen([new URLSearchParams(location.search).get("language"), kept("language"), ...navigator.languages]);
const tell = (key, ...values) => text(language, key, ...values);

let lab = null, arm = "", later = 0, tries = 0;
let seen = null, presence = null, news = null, holding = null, seenAt = 0, startingAt = null, said = ["connecting"];
let scene = null, planned = null, waiting = false, wish = null, drawing = false, slowAt = -Infinity, owed = false, staleAt = 0, refusedAt = -Infinity;
const events = new Events();

// -- words ----------------------------------------------------------------------------------------------

function speak(wantedLanguage) {
  language = wantedLanguage;
  document.documentElement.lang = language;
  at("languages").value = language;
  const places = { words: write, label: (part, words) => part.setAttribute("aria-label", words),
    title: (part, words) => { part.title = words; }, alt: (part, words) => { part.alt = words; } };
  for (const [name, put] of Object.entries(places)) {
    for (const part of document.querySelectorAll(`[data-${name}]`)) put(part, tell(part.dataset[name]));
  }
  axes.speak();
  tool.speak();
  say(...said);
  refresh();
}

function say(...words) {
  said = words;
  const [key, ...values] = words;
  const sentence = tell(key, ...values.map((value) => value ?? tell("somebody")));
  write(at("banner"), sentence);
  if (at("banner").title !== sentence) at("banner").title = sentence;
}

// What came of the newest thing that was asked for; the lab itself speaks English, which a screen reader has to know.
function answer(key, ...values) {
  if (key instanceof Refusal) {
    write(at("told"), tell(`code_${key.code}`));
    write(at("detail"), key.reason);
    note(`refused ${key.code}`, `${tell(`code_${key.code}`)}: ${key.reason}`, language);
  } else {
    write(at("told"), key instanceof Error ? key.message : key ? tell(key, ...values) : "");
    write(at("detail"), "");
  }
}

function note(kind, words, inLanguage = "en") {
  events.add(kind, words, inLanguage, new Date());
  at("notices").replaceChildren(...events.lines.map((line) => made("li", { lang: line.language,
    textContent: `${line.at.toLocaleTimeString(language)} ${line.count > 1 ? `${line.count}× ` : ""}${line.words}` })));
}

// -- the lab and its arms -------------------------------------------------------------------------------

async function enter() {
  clearTimeout(later);
  try {
    lab = await (await access.ask("lab")).json();
  } catch (error) {
    if (error.code === "token") {
      at("door").hidden = false;
      say(access.token ? "token_bad" : "token_asked");
      access.forget();
    } else {
      say("silent", error.message);
      later = setTimeout(enter, Math.min(5000, 500 * (tries += 1)));
    }
    return;
  }
  tries = 0;
  at("door").hidden = true;
  courses.enter();
  const names = lab.arms.map((each) => each.arm);
  at("arms").replaceChildren(...names.map((name) => new Option(name, name)));
  choose(names.includes(access.arm) ? access.arm : names.includes(arm) ? arm : names[0]);
}

function choose(name) {
  if (!name) {
    say("no_arm");
    return;
  }
  driver.lost();
  if (name !== arm) channel.forgetStop();
  arm = access.arm = name;
  at("arms").value = arm;
  history.replaceState(null, "", `${location.pathname}${location.search}#${encodeURIComponent(arm)}`);
  document.title = `${arm} – ${lab.server}`;
  seen = presence = news = holding = wish = null;
  if (scene) scene.close();
  scene = null;
  plot.forget();
  camera.forget(arm);
  channel.open();
}

// -- parts ----------------------------------------------------------------------------------------------

const deadMan = new DeadMan((why) => driver.end(why));
const address = new URL("channel", root);
address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
const camera = new Camera({ ask: (path) => access.ask(path), tell, looked: looksAtCamera });
const channel = new Channel({
  address, now, heard: take, lost: lose, picture: () => (looksAtCamera() ? camera.taken : null),
  hello: () => ({ arm, token: access.token, name: access.name, client: "page", on_site: access.onSite }),
});
const driver = new Driver({ channel, deadMan, tell: ended, changed: turned, now, yours: () => Boolean(news && news.yours) });
const plot = new ErrorPlot(at("plot"));
const axes = new Axes(at("axes"), { tell, chosen: () => {}, hold: (button, index, sign) => lead(button, { axis: index, sign }) });
const tool = new Tool(at("tool"), { tell, hold: (button, way, sign) => lead(button, { tool: way, sign }) });
const plans = new Plans({
  ask: (path, options) => access.ask(path, options), arm: () => arm, tell, say: answer, changed: refresh,
  armFor: (digest) => channel.ask("arm_motion", { digest }),
  scrubbed: (positions) => {
    planned = positions;
    draw();
  },
});
const parts = { ask: (path, options) => access.ask(path, options), arm: () => arm, tell, say: answer, language: () => language };
new Calendar(parts);
new Journals(parts);
const courses = new Courses({ ...parts, text: () => [[plans.name, at("text").value], ["program.pos", at("kindof").value === "melfa" ? at("points").value : ""]] });

function take(message) {
  driver.heard(message);
  if (message.type === "welcome") welcomed(message);
  else if (message.type === "lease") leased(message);
  else if (message.type === "holding") holding = message;
  else if (message.type === "presence") {
    presence = message;
    startingAt = message.starting_s == null ? null : performance.now() - 1000 * message.starting_s;
  }
  else if (message.type === "notice") noticed(message);
  else if (message.type === "bye") left(message);
  else if (message.type === "refused") refused(message);
  else if (message.type === "telemetry") {
    seen = message;
    seenAt = performance.now();
    startingAt = message.starting_s != null ? seenAt - 1000 * message.starting_s : STARTING.has(message.mode) ? startingAt ?? seenAt : null;
    plot.add(message.t_s, worst(channel.welcome.axes, message));
    soon();
  }
}

async function welcomed({ axes: found, title, robot, real, camera: pictures, role }) {
  axes.build(found);
  slowAt = -Infinity;
  tool.build(found);
  plans.forget();
  at("kind").dataset.words = real ? "real" : "fake";
  write(at("title"), `${title} (${robot})`);
  write(at("robot"), `${title}, ${robot}, ${role}`);
  for (const name of ["viewcamera", "viewboth"]) enable(at(name), pictures);
  if (!pictures) sight("scene");
  speak(language);
  look();
  if (at("courses").open) courses.refresh();
  // What was ours before the line was lost is asked for again; what moved before is not.
  if (wish) channel.ask("claim", { wait: wish.waits }).catch(answer);
  try {
    const skeleton = await (await access.ask(`arms/${encodeURIComponent(arm)}/skeleton`)).json();
    if (scene) scene.close();
    scene = makeScene(at("scene"), { skeleton, axes: found, arm, words: tell, ask: (path) => access.ask(path) });
    draw();
  } catch (error) {
    note("skeleton", tell("no_skeleton", error.message), language);
  }
}

function leased(message) {
  const changed = news && news.lease.epoch !== message.lease.epoch, was = news && news.yours;
  news = message;
  if (changed) deadMan.refree("hold_ended");
  if (message.yours) {
    wish = { waits: false };
    waiting = false;
    if (!was) spoken("driving");
  } else if (was && driver.busy) driver.end("hold_ended");
  if (!message.yours && message.reason) note("lease", message.reason);
  refresh();
}

function noticed({ kind, text: words }) {
  if (kind === "loop" && / -> /.test(words) && !/fault|stop:/.test(words)) return;
  note(kind, kind === "loop" ? words : `${tell(`notice_${kind}`)}${words ? `: ${words}` : ""}`);
  if (kind === "loop") answerLoop(words);
  else if (kind !== "deadman_released") {
    write(at("told"), tell(`notice_${kind}`));
    write(at("detail"), words);
  }
}

function refused(message) {
  if (!message.asked && !deadMan.refused(message.to) && performance.now() - refusedAt > REFUSED_TOGETHER_MS) answer(new Refusal(message));
}

// What was on its way when the page let go is refused by the arm: why it let go counts.
function ended(...words) {
  refusedAt = performance.now();
  answer(...words);
}

// Of refusals that come one after the other the first is the cause.
function answerLoop(words) {
  if (/^the jog |^refused: /.test(words) && performance.now() - refusedAt > REFUSED_TOGETHER_MS) {
    refusedAt = performance.now();
    write(at("told"), tell("arm_says"));
    write(at("detail"), words.replace(/^refused: /, ""));
  }
}

// Whoever was cut off by a teacher, or by another window of their own, does not fight for the arm.
function left({ code, reason }) {
  if (code === "lease") wish = null;
  answer(new Refusal({ code, reason }));
  if (code === "token") {
    channel.close();
    lose();
    access.forget();
    at("door").hidden = false;
    say("token_bad");
  } else if (code === "arm" || code === "version") {
    channel.close();
    lose();
    say("silent", reason);
    later = setTimeout(enter, 5000);
  }
}

function lose() {
  driver.lost();
  padHand.drop();
  news = null;
  refresh();
}

// Who does not look gets nothing sent.
function look() {
  camera.look();
  channel.send("watch", { rate_hz: document.hidden ? 0 : RATE_HZ });
}

// -- driving --------------------------------------------------------------------------------------------

const settings = () => ({ size: Number(at("size").value), share: driver.share, frame: at("frame").value });

function may() {
  const { role, on_site: here } = channel.welcome || {};
  const cares = role === "teach" || role === "maintain";
  return { drive: role !== undefined && role !== "watch", confirm: cares, reset: cares, here: Boolean(here) };
}

function moveOf({ axis, tool: way, sign }) {
  const found = channel.welcome.axes;
  return axis === undefined ? toolMove(tool.turns, way, sign, settings()) : axisMove(found, axis, axisAmount(found[axis], sign, settings()));
}

function nameOf({ axis, tool: way, sign, plan }) {
  if (plan) return tell(plan);
  return `${axis === undefined ? tool.names[way] : channel.welcome.axes[axis].name} ${sign < 0 ? "−" : "+"}`;
}

// Begins what is meant; whether it did.
function begin(meant, source) {
  if (!channel.welcome) return false;
  if (meant.axis !== undefined || meant.tool !== undefined) {
    if (meant.axis !== undefined) axes.choose(meant.axis);
    const name = nameOf(meant);
    return settings().size ? driver.step(moveOf(meant), name) : driver.jog(source, () => moveOf(meant), name);
  }
  if (meant.plan === "test") return driver.plan(source, "self_test", { speed_share: driver.share }, tell("test"));
  if (meant.plan === "run") return driver.plan(source, "start", { digest: plans.armed }, tell("run"));
  if (meant.plan === "confirm") return driver.plan(source, "confirm", { supply_on: Boolean(channel.welcome.on_site) }, tell("confirm"));
  return driver.plan(source, "go", { to: meant.plan, speed_share: driver.share }, tell(meant.plan));
}

const hand = {
  changed: () => deadMan.changed(now()),
  repeated: () => deadMan.reported(now()),
  release: (source) => driver.release(source),
};

function lead(button, meant) {
  holdable(button, { ...hand, press: (source) => begin(meant, source) });
}

const padHand = new PadHand({
  press: () => {
    const count = channel.welcome ? channel.welcome.axes.length : 0;
    const move = () => ({ type: "axes", amounts: wanted(padHand.pad, count).map((part, index) => part * driver.share * channel.welcome.axes[index].speed) });
    return count > 0 && driver.jog("pad", move, tell("pad"));
  },
  release: () => driver.release("pad"),
  changed: hand.changed,
  reported: hand.repeated,
});

const keys = listen({
  stop: () => driver.stop("asked for by a key on the page") && answer("stop_sent"),
  mean: (key) => picked(key) ?? (channel.welcome ? meaning(key, tool.turns, axes.chosen, channel.welcome.axes.findIndex((axis) => axis.kind === "gripper"))
    : meaning(key, "", 0, -1)),
  act: keyed,
  release: hand.release,
  repeated: hand.repeated,
  other: () => {
    deadMan.silent();
    hand.changed();
  },
});

// A digit picks an axis; null for another key, and for a number that no axis has.
function picked(key) {
  if (!channel.welcome || !/^[1-9]$/.test(key)) return null;
  const index = numbered(channel.welcome.axes.map((axis) => axis.name), Number(key));
  return index < 0 ? null : { pick: index };
}

function keyed(meant, source) {
  if (meant.pick !== undefined) axes.choose(meant.pick);
  else if (meant.next) nextSetting(meant.next);
  else if (meant.teach) teach();
  else if (meant.recover) return seen && seen.mode === "unknown_pose" ? begin({ plan: "confirm" }, source) : reset();
  else return begin(meant, source);
  return false;
}

function nextSetting(name) {
  if (name === "speed") {
    at("speed").value = String(SPEEDS.find((each) => each > Number(at("speed").value)) || SPEEDS[0]);
    speedChosen();
    return;
  }
  const part = at(name);
  part.selectedIndex = (part.selectedIndex + 1) % part.options.length;
}

function speedChosen() {
  driver.share = Number(at("speed").value) / 100;
  write(at("percent"), `${at("speed").value} %`);
}

// Something began to move under a hand, or ended.
function turned(ended) {
  for (const part of document.querySelectorAll(".led")) part.classList.remove("led");
  if (driver.run) {
    answer("");
    spoken("moves", driver.run.name);
  } else if (ended) {
    padHand.held = false;
    spoken("ended", ended.name);
  }
  refresh();
}

// For whoever hears the page: what moves, and where it came to rest.
function spoken(key, ...values) {
  const line = tell(key, ...values);
  at("spoken").replaceChildren(made("span", { textContent: line }));
}

function letGo(why) {
  keys.open();
  if (driver.run && driver.run.held) driver.end(why);
}

function leaseAsked() {
  if (!news) return;
  if (news.yours) {
    if (driver.run) driver.finish();
    wish = null;
    channel.ask("release").catch(answer);
  } else if (news.place || waiting) {
    waiting = false;
    wish = null;
    channel.ask("leave_queue").catch(answer);
  } else {
    wish = { waits: true };
    waiting = true;
    channel.ask("claim", { wait: true }).catch((refusal) => {
      wish = null;
      waiting = false;
      answer(refusal);
    });
  }
  refresh();
}

function reset() {
  channel.ask("reset").then(() => answer("reset_asked"), answer);
  return false;
}

function teach() {
  if (!known(seen)) {
    answer("pose_not_known");
    return;
  }
  plans.forget();
  at("kindof").value = "task";
  at("text").value = taught(at("text").value, channel.welcome.axes, seen.commanded, tell("taught_title"));
  answer("taught", (at("text").value.match(/\[\[step\]\]/g) || []).length);
  refresh();
}

// -- showing --------------------------------------------------------------------------------------------

function soon() {
  if (drawing || document.hidden) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    refresh();
    draw();
  });
}

function draw() {
  if (!scene || !seen) return;
  const stale = !channel.connected || performance.now() - seenAt > OLD_MS;
  scene.show({ commanded: seen.commanded, simulated: seen.simulated, reported: seen.reported, known: known(seen), stale, planned,
    errors: seen.errors, used: seen.used, rest: seen.rest });
}

function refresh() {
  const connected = channel.connected, oldS = (performance.now() - seenAt) / 1000;
  const old = oldS * 1000 > OLD_MS, rights = may(), yours = Boolean(news && news.yours);
  const state = lamp({ connected, ageMs: 1000 * oldS, seen, presence }), startingS = startingAt === null ? 0 : (performance.now() - startingAt) / 1000;
  at("lamp").dataset.state = state;
  document.body.classList.toggle("stale", !connected || old);
  write(at("mode"), state === "starting" && startingAt !== null ? tell("comes_up", startingS.toFixed(0)) : tell(`lamp_${state}`));
  if (!at("door").hidden) {
    // the door has said what is missing
  } else if (lab) say(...missing({
    connected, oldS, seen, news, may: rights, waits: waiting, picture: pictureNeed(), running: driver.run ? driver.run.name : "",
    presence, startingS,
  }));
  const still = connected && yours && seen !== null && !old;
  const drivable = still && !["fault", "estop", "unknown_pose", "disconnected", "connecting", "energising"].includes(seen.mode)
    && !seen.lease.latched && !seen.lease.frozen;
  axes.allow(drivable);
  tool.allow(drivable);
  for (const name of ["home", "park", "test"]) enable(at(name), drivable);
  enable(at("confirm"), still && rights.confirm && seen.mode === "unknown_pose");
  enable(at("reset"), connected && (rights.reset || (rights.here && yours)) && seen !== null
    && Boolean(seen.lease.latched || seen.mode === "fault" || seen.mode === "estop"));
  enable(at("teach"), known(seen));
  enable(at("cut"), connected);
  plans.allow(drivable, seen ? seen.mode : "");
  leaseWords(connected, rights.drive, yours);
  if (seen && channel.welcome) numbers();
}

// Nobody reads numbers more often than this, and each time they are painted anew; the scene shows what moves. They are
// painted with the scene, never in a frame between: only the newest, when no more comes, in one of its own.
function numbers() {
  owed = performance.now() - slowAt < SLOW_MS;
  if (owed) return;
  slowAt = performance.now();
  axes.update(seen, known(seen));
  plot.draw();
  details();
}

function pictureNeed() {
  const rules = channel.welcome ? channel.welcome.rules : null, age = camera.age(channel.now_s);
  return { needed: Boolean(rules && rules.picture_needed && !channel.welcome.on_site), shown: looksAtCamera(),
    old: age === null || (rules && age > rules.picture_age_s) };
}

function leaseWords(connected, drives, yours) {
  const place = news ? news.place : 0, phase = news ? news.lease.phase : "";
  const key = yours ? "give_back" : place || waiting ? "leave" : phase === "held" || phase === "suspended" ? "queue" : "drive";
  at("lease").dataset.words = key;
  write(at("lease"), tell(key));
  enable(at("lease"), connected && drives && news !== null);
  enable(at("renew"), connected && yours);
  if (!seen) return;
  const { lease } = seen, holder = lease.holder || tell("somebody");
  write(at("holder"), yours ? tell("you_drive") : lease.phase === "held" ? tell("drives", holder)
    : lease.kept_s == null ? tell(`phase_${lease.phase}`) : tell("kept", holder, lease.kept_s.toFixed(0)));
  write(at("left"), lease.slot_left_s == null ? "" : clock(lease.slot_left_s));
}

function details() {
  const { stop, timing } = seen, found = worst(channel.welcome.axes, seen);
  at("progress").value = seen.progress || 0;
  write(at("source"), seen.source ? tell(`source_${seen.source}`) : tell("reported"));
  write(at("worstwords"), found ? tell("worst", found.name, found.size.toFixed(1)) : tell("worst_unknown"));
  const mm = seen.tool_m && seen.tool_m.map((value) => (value * 1000).toFixed(0));
  write(at("loop"), tell(`mode_${seen.mode}`));
  write(at("point"), mm ? tell("tool", ...mm) : tell("tool_unknown"));
  write(at("budget"), stop ? tell("budget", stop.total_ms.toFixed(0), stop.distance_mm.toFixed(0), (100 * seen.speed_share).toFixed(0)) : "");
  write(at("timing"), tell("timing", timing.late_ms.toFixed(1), timing.missed, (100 * seen.wire_share).toFixed(0)));
  write(at("power"), holding ? powerWords() : "");
  write(at("pad"), padHand.pad ? tell("pad_there", padHand.pad.id) : tell("pad_none"));
  if (channel.welcome.camera) camera.show(channel.now_s, seen.picture_age_s);
}

function powerWords() {
  const supply = tell(`supply_${holding.supply}`), held = holding.held_s;
  if (held === null) return supply;
  return `${supply}; ${tell(holding.remind ? "held_long" : "held", Math.floor(held / 60))}`;
}

function looksAtCamera() {
  return Boolean(channel.welcome && channel.welcome.camera) && !document.hidden && at("panes").dataset.view !== "scene";
}

function sight(view) {
  at("panes").dataset.view = view;
  for (const name of ["scene", "camera", "both"]) at(`view${name}`).setAttribute("aria-pressed", String(name === view));
  camera.look();
  if (scene) scene.resize();
}

// -- hands ----------------------------------------------------------------------------------------------

const stopped = () => driver.stop("asked for on the page") && answer("stop_sent");
at("stop").addEventListener("pointerdown", stopped);
at("stop").addEventListener("click", (event) => event.detail === 0 && stopped());
at("lease").addEventListener("click", leaseAsked);
at("renew").addEventListener("click", () => channel.ask("renew", { minutes: MORE_MINUTES }).then(({ text: words }) => answer("renewed", words), answer));
at("reset").addEventListener("click", reset);
at("teach").addEventListener("click", teach);
at("cut").addEventListener("click", () => {
  // A slip of the finger would cost a walk to the arm; a stop never asks.
  if (confirm(tell("cut_help"))) channel.send("supply_cut", { reason: "said on the page" });
});
for (const plan of ["home", "park", "test", "confirm", "run"]) lead(at(plan), { plan });
at("before").addEventListener("click", () => axes.choose(axes.chosen - 1));
at("after").addEventListener("click", () => axes.choose(axes.chosen + 1));
at("speed").addEventListener("input", speedChosen);
for (const view of ["scene", "camera", "both"]) at(`view${view}`).addEventListener("click", () => sight(view));
at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  access.enter(at("token").value.trim());
  at("token").value = "";
  at("door").hidden = true;
  enter();
});
at("languages").addEventListener("change", () => {
  speak(at("languages").value);
  history.replaceState(null, "", location.pathname + location.hash);
  keep("language", language);
});
at("arms").addEventListener("change", () => choose(at("arms").value));
at("onsite").checked = access.onSite;
at("onsite").addEventListener("change", () => {
  access.stand(at("onsite").checked);
  if (arm) choose(arm);
});
at("gotit").addEventListener("click", () => {
  keep("card", "seen");
  at("card").hidden = true;
});
at("card").hidden = kept("card") === "seen";
addEventListener("hashchange", () => {
  const { arm: name, key } = addressed(location.hash);
  // The key of a new start: as if the page were opened with it.
  if (key) location.reload();
  else if (name && name !== arm && lab && lab.arms.some((each) => each.arm === name)) choose(name);
});
new ResizeObserver(() => {
  if (scene) scene.resize();
  plot.drawn = "";
}).observe(at("scene"));

// Every way in which the page loses sight of the hand, or the hand of the page.
addEventListener("blur", () => letGo("hold_unfocused"));
addEventListener("pagehide", () => letGo("hold_hidden"));
document.addEventListener("freeze", () => letGo("hold_hidden"));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) letGo("hold_hidden");
  look();
  refresh();
});
addEventListener("gamepaddisconnected", () => padHand.look(navigator.getGamepads ? navigator.getGamepads() : []));

setInterval(() => {
  deadMan.look(now(), Date.now() / 1000);
  if (!document.hasFocus()) letGo("hold_unfocused");
  if (navigator.getGamepads && document.hasFocus() && !document.hidden) padHand.look(navigator.getGamepads());
  const patience = channel.welcome ? channel.welcome.rules.suspend_after_s : Infinity;
  if (news && news.yours && channel.connected && now() - channel.heardAt > patience) channel.break_off();
  driver.tick();
  if (performance.now() - Math.max(seenAt, staleAt) > OLD_MS && !document.hidden) {
    staleAt = performance.now();
    soon();
  } else if (owed && performance.now() - Math.max(slowAt, seenAt) >= SLOW_MS) soon();
}, LOOK_MS);

at("languages").replaceChildren(...Object.entries(NAMES).map(([code, name]) => new Option(name, code)));
speak(language);
speedChosen();
enter();
