// All arms of a lab on one page, for whoever looks after them.
import { Access, Refusal } from "./access.js";
import { addressed } from "./arm.js";
import { at, keep, kept, made, write } from "./dom.js";
import { typing } from "./keys.js";
import { Cell } from "./wall_cell.js";
import { nextHour } from "./wall_state.js";
import { chosen, NAMES, text } from "./words.js";

const HOLD_MS = 500, LOOK_MS = 500, BOOKINGS_MS = 30_000;
const access = new Access();
let language = chosen([new URLSearchParams(location.search).get("language"), kept("language"), ...navigator.languages]);
let cells = [], lab = null, later = 0;
const tell = (key, ...values) => text(language, key, ...values);

function speak(wanted) {
  language = wanted;
  document.documentElement.lang = language;
  at("languages").value = language;
  for (const part of document.querySelectorAll("[data-words]")) write(part, tell(part.dataset.words));
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", tell(part.dataset.label));
  document.title = `${tell("wall")}${lab ? ` – ${lab.server}` : ""}`;
  for (const cell of cells) cell.soon();
  hour();
}

// -- the lab --------------------------------------------------------------------------------------------

async function enter() {
  clearTimeout(later);
  try {
    lab = await (await access.ask("lab")).json();
  } catch (error) {
    if (error.code === "token") {
      at("door").hidden = false;
      write(at("told"), tell(access.token ? "token_bad" : "token_asked"));
      access.forget();
    } else {
      write(at("told"), tell("silent", error.message));
      later = setTimeout(enter, 3000);
    }
    return;
  }
  at("door").hidden = true;
  write(at("lab"), lab.server);
  write(at("told"), lab.arms.length ? "" : tell("no_arm"));
  for (const cell of cells) cell.close();
  cells = lab.arms.map(({ arm }, index) => new Cell({ arm, number: index + 1, access, tell, answer, ask, loud, shut }));
  at("cells").replaceChildren(...cells.map((cell) => cell.part));
  speak(language);
}

function shut() {
  access.forget();
  at("door").hidden = false;
  write(at("told"), tell("token_bad"));
}

// What came of a press: null, the key of a text, or what the lab said, which speaks English.
function answer(arm, refusal) {
  if (refusal === null) write(at("told"), tell("done_to", arm));
  else if (typeof refusal === "string") write(at("told"), `${arm}: ${tell(refusal)}`);
  else write(at("told"), refusal instanceof Refusal ? `${arm}: ${tell(`code_${refusal.code}`)}: ${refusal.reason}` : `${arm}: ${refusal.message}`);
}

function loud(words) {
  write(at("loud"), words);
}

// -- a question -----------------------------------------------------------------------------------------

// The arm that a question is about: a stop meanwhile is for that one.
let asked = null;

function ask(cell, question, withWords) {
  const dialog = at("dialog");
  asked = cell;
  write(at("question"), question);
  at("words").value = "";
  at("words").hidden = !withWords;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes" ? at("words").value.trim() : null), { once: true });
  });
}

// -- all of them ----------------------------------------------------------------------------------------

// One that is connected and may asks for all: the lab does it at every arm that the token is for.
const speaker = () => cells.find((cell) => cell.channel.connected && cell.rights && cell.rights.freeze);

let holding = 0;
function hold() {
  if (holding) return;
  at("freeze").classList.add("held");
  holding = setTimeout(() => {
    open();
    const cell = speaker();
    if (cell) cell.order("freeze", { everywhere: true, reason: "asked for on the wall" });
  }, HOLD_MS);
}

function open() {
  clearTimeout(holding);
  holding = 0;
  at("freeze").classList.remove("held");
}

at("freeze").addEventListener("pointerdown", hold);
for (const kind of ["pointerup", "pointercancel", "pointerleave", "blur"]) at("freeze").addEventListener(kind, open);
at("freeze").addEventListener("keydown", (event) => event.key === "Enter" && !event.repeat && hold());
at("freeze").addEventListener("keyup", open);
at("thaw").addEventListener("click", () => {
  const cell = speaker();
  if (cell) cell.order("thaw", { everywhere: true });
});

// -- keys -----------------------------------------------------------------------------------------------

// Whom a stop did not reach yet counts more than whom it did.
function halt(some) {
  const waits = some.filter((cell) => !cell.halt());
  if (waits.length) answer(waits.map((cell) => cell.arm).join(", "), "stop_waits");
}

document.addEventListener("keydown", (event) => {
  const writes = typing(event.target);
  if (event.key === "Escape" || (event.key === " " && !writes)) {
    event.preventDefault();
    const inside = cells.filter((cell) => (at("dialog").open ? cell === asked : cell.part.contains(event.target)));
    if (!event.repeat) halt(inside.length ? inside : cells);
    if (at("dialog").open && event.key === "Escape") at("dialog").close("no");
  } else if (!writes && /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.altKey && !event.metaKey) {
    const cell = cells[Number(event.key) - 1];
    if (cell) {
      cell.part.focus();
      cell.part.scrollIntoView({ block: "nearest" });
    }
  }
}, true);
// Browsers press a focused button when the space bar comes up: a stop would take a latch back.
document.addEventListener("keyup", (event) => {
  if (event.key === " " && !typing(event.target)) event.preventDefault();
}, true);

// -- the next hour --------------------------------------------------------------------------------------

async function hour() {
  if (!lab || document.hidden) return;
  const asked = cells.map(async (cell) => (await (await access.ask(`arms/${encodeURIComponent(cell.arm)}/bookings`)).json()).bookings);
  const found = (await Promise.allSettled(asked)).flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  const time = (seconds) => new Date(seconds * 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
  const lines = nextHour(found, Date.now() / 1000).map((slot) => made("li", {
    textContent: `${slot.arm}: ${tell("booked_by", time(slot.begin_epoch_s), time(slot.end_epoch_s), slot.name || tell("somebody"))}` }));
  at("slots").replaceChildren(...(lines.length ? lines : [made("li", { textContent: tell("nothing_booked") })]));
}

// -- the rest -------------------------------------------------------------------------------------------

at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  access.enter(at("token").value.trim());
  at("token").value = "";
  enter();
});
at("languages").addEventListener("change", () => {
  speak(at("languages").value);
  keep("language", language);
});
// The key of a new start: as if the page were opened with it.
addEventListener("hashchange", () => addressed(location.hash).key && location.reload());
document.addEventListener("visibilitychange", () => {
  for (const cell of cells) cell.watch();
});
setInterval(() => {
  for (const name of ["freeze", "thaw"]) at(name).hidden = !speaker();
  for (const cell of cells) cell.soon();
}, LOOK_MS);
setInterval(hour, BOOKINGS_MS);

at("languages").replaceChildren(...Object.entries(NAMES).map(([code, name]) => new Option(name, code)));
speak(language);
enter();
