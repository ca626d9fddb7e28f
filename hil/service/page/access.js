// Who asks: the token, or the key of the server's start, and questions over HTTP. Never in an address.
import { addressed } from "./arm.js";

const NAME = "browser";
export const root = new URL("v1/", document.baseURI);

// What the lab said no to: a code for programs, a reason for people, and what is missing.
export class Refusal extends Error {
  constructor({ code = "unavailable", reason = "", missing = [], findings = [] }) {
    super(reason);
    Object.assign(this, { code, reason, missing, findings });
  }
}

export class Access {
  constructor() {
    // The key is kept as a token is: for this tab, and out of the history.
    const { arm, key } = addressed(location.hash);
    this.arm = arm;
    this.name = NAME;
    if (key) {
      sessionStorage.setItem("token", key);
      history.replaceState(null, "", `#${encodeURIComponent(arm)}`);
    }
    this.token = sessionStorage.getItem("token") || "";
    this.onSite = sessionStorage.getItem("on_site") === "yes";
  }

  enter(token) {
    this.token = token;
    sessionStorage.setItem("token", token);
  }

  forget() {
    this.token = "";
    sessionStorage.removeItem("token");
  }

  stand(onSite) {
    this.onSite = onSite;
    sessionStorage.setItem("on_site", onSite ? "yes" : "no");
  }

  // Whoever previews has to be the same person as the one who drives: so the name goes with each question.
  async ask(path, { method = "GET", body = null } = {}) {
    const headers = { "Display-Name": encodeURIComponent(this.name) };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== null) headers["Content-Type"] = "application/json";
    const options = { method, headers, cache: "no-store", body: body === null ? null : JSON.stringify(body) };
    const response = await fetch(new URL(path, root), options);
    if (response.ok) return response;
    const said = await response.json().catch(() => ({ reason: `answer ${response.status}` }));
    throw new Refusal(response.status === 401 ? { ...said, code: "token" } : said);
  }
}
