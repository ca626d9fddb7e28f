// Shows one arm of a lab. Reads only, but for the stop, and for the word that the servo supply was cut.
import { origins, pause, pictureWords, shown, Trace, view } from "./arm.js";
import { chosen, NAMES, text } from "./words.js";

const RATE_HZ = 15, SECONDS = 20, OLD_MS = 1500, MOST_NOTICES = 30;
const at = (id) => document.getElementById(id);
const root = new URL("v1/", document.baseURI);

const asked = new URLSearchParams(location.search).get("language");
let language = chosen([asked, kept("language"), ...navigator.languages]);
let token = sessionStorage.getItem("token") || "";
let lab = null, arm = "", socket = null, seq = 0, tries = 0, later = 0;
let welcome = null, seen = null, holding = null, seenAt = 0, skeleton = null, trace = new Trace(SECONDS);
let said = ["connecting"];
let azimuth = -Math.PI / 3, elevation = 0.4, clock = null, pictureUrl = "", lookedAt = 0;

// -- words ----------------------------------------------------------------------------------------------

// A browser may forbid that anything is kept.
function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

const tell = (key, ...values) => text(language, key, ...values);

function speak(wanted) {
  language = wanted;
  document.documentElement.lang = language;
  at("languages").value = language;
  const places = { words: (part, words) => { part.textContent = words; }, label: (part, words) => { part.setAttribute("aria-label", words); },
    title: (part, words) => { part.title = words; }, alt: (part, words) => { part.alt = words; } };
  for (const [name, put] of Object.entries(places)) {
    for (const part of document.querySelectorAll(`[data-${name}]`)) put(part, tell(part.dataset[name]));
  }
  say(...said);
}

// -- talking --------------------------------------------------------------------------------------------

async function ask(path) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(new URL(path, root), { headers, cache: "no-store" });
  if (response.status === 401) throw new Error("token");
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).reason || `answer ${response.status}`);
  return response;
}

function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) {
    seq += 1;
    socket.send(JSON.stringify({ v: 1, seq, ...message }));
  }
}

async function enter() {
  clearTimeout(later);
  try {
    lab = await (await ask("lab")).json();
  } catch (error) {
    if (error.message === "token") {
      at("door").hidden = false;
      say(token ? "token_bad" : "token_asked");
      token = "";
      sessionStorage.removeItem("token");
    } else {
      say("silent", error.message);
      retry(enter);
    }
    return;
  }
  at("door").hidden = true;
  at("lab").textContent = lab.server;
  const names = lab.arms.map((each) => each.arm);
  at("arms").replaceChildren(...names.map((name) => new Option(name, name)));
  const wanted = decodeURIComponent(location.hash.slice(1));
  choose(names.includes(wanted) ? wanted : names.includes(arm) ? arm : names[0]);
}

function choose(name) {
  if (!name) {
    say("no_arm");
    return;
  }
  arm = name;
  at("arms").value = arm;
  history.replaceState(null, "", `#${encodeURIComponent(arm)}`);
  document.title = `${arm} – ${lab.server}`;
  welcome = seen = holding = skeleton = null;
  trace = new Trace(SECONDS);
  at("notices").replaceChildren();
  forgetPicture();
  connect();
}

function connect() {
  clearTimeout(later);
  if (socket) socket.onclose = socket.onmessage = null, socket.close();
  const address = new URL("channel", root);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  seq = 0;
  socket = new WebSocket(address);
  socket.onopen = () => send({ type: "hello", speaks: [1], arm, token, name: "browser", client: "page" });
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => {
    at("stop").disabled = at("cut").disabled = true;
    say("lost");
    retry(enter);
  };
}

function retry(what) {
  clearTimeout(later);
  later = setTimeout(what, pause(tries));
  tries += 1;
}

function take(message) {
  if (message.type === "welcome") {
    tries = 0;
    welcome = message;
    open();
  } else if (message.type === "telemetry") {
    seen = message;
    seenAt = performance.now();
    clock = message.now_s - seenAt / 1000;
    trace.add(message.t_s, message.commanded, message.reported);
  } else if (message.type === "holding") {
    holding = message;
  } else if (message.type === "notice" || message.type === "refused" || message.type === "bye") {
    note(message.text || message.reason);
  }
}

async function open() {
  at("arm").hidden = false;
  at("stop").disabled = at("cut").disabled = false;
  at("kind").dataset.words = welcome.real ? "real" : "fake";
  speak(language);
  at("title").textContent = `${welcome.title} (${welcome.robot})`;
  at("axes").replaceChildren(...welcome.axes.map((axis) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = axis.name;
    const cells = [0, 1, 2].map(() => document.createElement("td"));
    const range = [axis.lower, axis.upper].map((value) => parseFloat(shown(axis, value)));
    cells[2].textContent = range.join("…");
    row.append(head, ...cells);
    return row;
  }));
  at("camera").hidden = !welcome.camera;
  look();
  try {
    skeleton = await (await ask(`arms/${encodeURIComponent(arm)}/skeleton`)).json();
  } catch (error) {
    note(tell("no_skeleton", error.message), language);
  }
}

// The picture of another arm, or from before a line was lost, is not this arm now.
function forgetPicture() {
  at("picture").removeAttribute("src");
  delete at("picture").dataset.taken;
  lookedAt = performance.now();
}

// Who does not look gets nothing sent.
function look() {
  lookedAt = performance.now();
  send({ type: "watch", rate_hz: document.hidden ? 0 : RATE_HZ });
}

async function follow() {
  let after = "";
  for (;;) {
    const mine = arm;
    try {
      if (!welcome || !welcome.camera || document.hidden) throw new Error("nobody looks");
      const response = await ask(`arms/${encodeURIComponent(mine)}/picture${after}`);
      const taken = Number(response.headers.get("Picture-Taken-S"));
      const fresh = URL.createObjectURL(await response.blob());
      if (mine === arm) {
        at("picture").src = fresh;
        at("picture").dataset.taken = taken;
        after = `?after=${taken}`;
      } else {
        after = "";
      }
      if (pictureUrl) URL.revokeObjectURL(pictureUrl);
      pictureUrl = fresh;
      await new Promise((go) => setTimeout(go, 100));
    } catch {
      after = "";
      await new Promise((go) => setTimeout(go, 1000));
    }
  }
}

// -- showing --------------------------------------------------------------------------------------------

function say(key, ...values) {
  said = [key, ...values];
  const words = key ? tell(key, ...values) : "";
  if (at("banner").textContent !== words) at("banner").textContent = words;
}

// The lab itself speaks English, which a screen reader has to know.
function note(words, inLanguage = "en") {
  const line = document.createElement("li");
  line.lang = inLanguage;
  line.textContent = `${new Date().toLocaleTimeString()} ${words}`;
  at("notices").prepend(line);
  while (at("notices").children.length > MOST_NOTICES) at("notices").lastChild.remove();
}

function show() {
  requestAnimationFrame(show);
  if (!welcome || !seen || document.hidden) return;
  const old = performance.now() - seenAt;
  if (socket && socket.readyState === WebSocket.OPEN) {
    const { frozen, latched } = seen.lease;
    if (old > OLD_MS) say("nothing_new", (old / 1000).toFixed(0));
    else if (latched) say("latched", latched);
    else if (frozen) say("frozen");
    else if (seen.refusal && seen.mode === "fault") say("refused", seen.refusal);
    else say("");
  }
  words();
  drawSpace();
  drawPlots();
}

function words() {
  const { lease, stop, timing } = seen;
  at("mode").textContent = tell(`mode_${seen.mode}`);
  const holder = lease.holder || tell("somebody");
  at("lease").textContent = lease.phase === "held" ? tell("drives", holder)
    : lease.kept_s == null ? tell(`phase_${lease.phase}`) : tell("kept", holder, lease.kept_s.toFixed(0));
  at("progress").hidden = seen.progress === null;
  at("progress").value = seen.progress || 0;
  at("source").textContent = seen.source ? tell(`source_${seen.source}`) : tell("reported");
  welcome.axes.forEach((axis, index) => {
    const cells = at("axes").children[index].children;
    cells[1].textContent = shown(axis, seen.commanded[index]);
    cells[2].textContent = shown(axis, seen.reported[index]);
  });
  const mm = seen.tool_m && seen.tool_m.map((value) => (value * 1000).toFixed(0));
  at("tool").textContent = mm ? tell("tool", ...mm) : tell("tool_unknown");
  at("budget").textContent = stop
    ? tell("budget", stop.total_ms.toFixed(0), stop.distance_mm.toFixed(0), (100 * seen.speed_share).toFixed(0))
    : "";
  at("timing").textContent = tell("timing", timing.late_ms.toFixed(1), timing.missed, (100 * seen.wire_share).toFixed(0));
  at("power").textContent = holding ? powerWords() : "";
  if (welcome.camera) pictureAge();
}

function powerWords() {
  const supply = tell(`supply_${holding.supply}`), held = holding.held_s;
  if (held === null) return supply;
  return `${supply}; ${tell(holding.remind ? "held_long" : "held", Math.floor(held / 60))}`;
}

function pictureAge() {
  const now = performance.now(), taken = Number(at("picture").dataset.taken);
  const age = taken ? Math.max(0, now / 1000 + clock - taken) : null;
  const found = pictureWords(age, seen.picture_age_s, (now - lookedAt) / 1000);
  const warning = found.warning ? tell(...found.warning) : "";
  at("age").textContent = tell(...found.age);
  at("picture").classList.toggle("old", warning !== "");
  // Told anew only when it changes: it is read aloud.
  if (at("hang").textContent !== warning) at("hang").textContent = warning;
}

function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return { pen, width, height, colour };
}

function drawSpace() {
  const { pen, width, height, colour } = prepared(at("space"));
  if (!skeleton) return;
  const reach = skeleton.reach_m;
  const place = view(azimuth, elevation, Math.min(width, height * 1.3) / (2.3 * reach), [width / 2, height * 0.62]);
  const line = (points, name, thick, dash) => {
    pen.beginPath();
    points.map(place).forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.strokeStyle = colour(name);
    pen.lineWidth = thick;
    pen.setLineDash(dash);
    pen.lineJoin = pen.lineCap = "round";
    pen.stroke();
  };
  const z = skeleton.table_m;
  for (let i = -4; i <= 4; i += 1) {
    const s = (i * reach) / 4;
    line([[s, -reach, z], [s, reach, z]], "line", 1, []);
    line([[-reach, s, z], [reach, s, z]], "line", 1, []);
  }
  const joints = skeleton.rows.length;
  const whole = (values) => values.slice(0, joints).every((value) => value !== null);
  if (whole(seen.reported)) line(origins(skeleton, seen.reported), "reported", 3, [7, 6]);
  if (whole(seen.commanded)) {
    const points = origins(skeleton, seen.commanded);
    line(points, "sent", 6, []);
    pen.fillStyle = colour("text");
    points.map(place).forEach(([x, y]) => {
      pen.beginPath();
      pen.arc(x, y, 4, 0, 2 * Math.PI);
      pen.fill();
    });
  }
}

function drawPlots() {
  const { pen, width, height, colour } = prepared(at("plots"));
  const points = trace.points, each = height / welcome.axes.length;
  if (!points.length) return;
  const last = points[points.length - 1].time;
  const across = (time) => width - ((last - time) / SECONDS) * width;
  pen.font = "12px system-ui, sans-serif";
  welcome.axes.forEach((axis, index) => {
    const top = index * each, low = axis.lower, high = axis.upper, room = each - 20;
    const down = (value) => top + 16 + room - ((value - low) / (high - low)) * room;
    pen.setLineDash([]);
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1;
    pen.strokeRect(0.5, top + 16.5, width - 1, room);
    pen.fillStyle = colour("text");
    pen.fillText(`${axis.name}  ${shown(axis, points[points.length - 1].sent[index])}`, 4, top + 12);
    for (const [what, dash, thick] of [["reported", [6, 5], 1.5], ["sent", [], 2]]) {
      pen.beginPath();
      let begun = false;
      for (const point of points) {
        const value = point[what][index];
        if (value === null) begun = false;
        else if (begun) pen.lineTo(across(point.time), down(value));
        else pen.moveTo(across(point.time), down(value)), begun = true;
      }
      pen.strokeStyle = colour(what);
      pen.setLineDash(dash);
      pen.lineWidth = thick;
      pen.stroke();
    }
  });
}

// -- hands ----------------------------------------------------------------------------------------------

at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  at("token").value = "";
  sessionStorage.setItem("token", token);
  enter();
});
at("languages").addEventListener("change", () => {
  speak(at("languages").value);
  history.replaceState(null, "", location.pathname + location.hash);
  try {
    localStorage.setItem("language", language);
  } catch { /* it may not be kept: it holds for this tab */ }
});
at("arms").addEventListener("change", () => choose(at("arms").value));
at("stop").addEventListener("click", () => send({ type: "stop", reason: "asked for on the page" }));
at("cut").addEventListener("click", () => {
  // A slip of the finger would cost a walk to the arm; a stop never asks.
  if (confirm(tell("cut_help"))) send({ type: "supply_cut", reason: "said on the page" });
});
document.addEventListener("visibilitychange", look);

const turn = (right, up) => {
  azimuth -= right;
  elevation = Math.min(1.5, Math.max(-0.3, elevation + up));
};
let from = null;
at("space").addEventListener("pointerdown", (event) => {
  at("space").setPointerCapture(event.pointerId);
  from = [event.clientX, event.clientY];
});
at("space").addEventListener("pointermove", (event) => {
  if (!from || !event.buttons) return;
  turn((event.clientX - from[0]) * 0.01, (event.clientY - from[1]) * 0.01);
  from = [event.clientX, event.clientY];
});
at("space").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
  if (step) {
    turn(...step);
    event.preventDefault();
  }
});

at("languages").replaceChildren(...Object.entries(NAMES).map(([code, name]) => new Option(name, code)));
speak(language);
enter();
follow();
show();
