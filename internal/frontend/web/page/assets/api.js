// The HTTP API. Every call ends: with its answer, an ApiError, or a time limit.

import * as token from "./token.js";

/** The server's refusal, or that there was none (status 0). */
export class ApiError extends Error {
  constructor(status, message, problem) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.problem = problem ?? {};
  }
}

const CALL_TIMEOUT = 30_000;
/** The page may be behind a proxy, below a prefix: the API is beside this file's folder. */
const API = new URL("../api", import.meta.url).href;

let skew = 0;

/** How far the server's clock is ahead of ours, in milliseconds; 0 where that is not known better than to a second. */
export function clockSkew() {
  return skew;
}

/** Notes the server's clock from an answer. Its header has whole seconds. */
export function noteClock(answer) {
  const at = Date.parse(answer.headers.get("Date") ?? "");
  if (!at) return;
  const off = at + 500 - Date.now();
  skew = Math.abs(off) < 1500 ? 0 : off;
}

async function call(method, path, body, { timeout = CALL_TIMEOUT } = {}) {
  let answer;
  try {
    answer = await fetch(`${API}${path}`, {
      method, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(timeout),
      headers: { ...token.headers(), Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (e) {
    throw new ApiError(0, e.name === "TimeoutError" ? "The server did not answer in time." : "The server cannot be reached.");
  }
  noteClock(answer);
  const text = await answer.text().catch(() => "");
  let data = null;
  try { data = text ? JSON.parse(text) : null; } catch { /* said below, by the status */ }
  if (answer.status === 401) token.refused();
  if (!answer.ok) throw new ApiError(answer.status, data?.detail || data?.title || `The server answered ${answer.status}.`, data);
  return data;
}

const at = (id, ...rest) => ["/sessions", id, ...rest].map((part, n) => n ? encodeURIComponent(part) : part).join("/");

/** The sessions, why the server only shows them, if it does, and what a new one gets. */
export const sessions = () => call("GET", "/sessions").then((r) => ({ sessions: r?.sessions ?? [], readOnly: r?.read_only ?? "", defaults: r?.new ?? {} }));
export const openSession = (id) => call("POST", "/sessions", id ? { id } : {});
export const snapshot = (id, turns) => call("GET", at(id) + (turns ? `?turns=${turns}` : ""));
export const closeSession = (id) => call("DELETE", at(id), undefined, { timeout: 60_000 });
export const rename = (id, name) => call("POST", at(id, "name"), { name });
export const fork = (id) => call("POST", at(id, "fork"));
export const rewindPlan = (id, input) => call("GET", `${at(id, "rewind")}?input=${encodeURIComponent(input)}`);
export const rewind = (id, body) => call("POST", at(id, "rewind"), body, { timeout: 60_000 });
export const deleteSession = (id) => call("DELETE", at(id, "log"), undefined, { timeout: 60_000 });
export const newSettings = () => call("GET", "/settings");
export const plugins = () => call("GET", "/plugins").then((r) => r?.plugins ?? []);
export const settings = (id) => call("GET", at(id, "settings"));
export const changeSettings = (id, body) => call("POST", at(id, "settings"), body);
export const files = (letters) => call("GET", `/files?match=${encodeURIComponent(letters)}`).then((r) => r?.paths ?? []);
export const send = (id, input) => call("POST", at(id, "inputs"), input);
export const drop = (id, input) => call("DELETE", at(id, "inputs", input));
export const interrupt = (id, what) => call("POST", at(id, "interrupt"), what, { timeout: 60_000 });
/** `more` has the message, the values of a form, whether the model explains, or changed arguments. */
export const answer = (id, approval, verdict, more) => call("POST", at(id, "approvals", approval), { verdict, ...more });
export const cancelCall = (id, item) => call("POST", at(id, "calls", item, "cancel"));
export const killJob = (id, job) => call("POST", at(id, "jobs", job, "kill"));
export const eventsPath = (id, after) => `${API}${at(id, "events")}?after=${after}`;

/** The session's events as a file. A link could not carry the token. */
export async function exported(id) {
  const answer = await fetch(`${API}${at(id, "export")}`, { cache: "no-store", credentials: "omit", headers: token.headers() })
    .catch(() => { throw new ApiError(0, "The server cannot be reached."); });
  if (!answer.ok) throw new ApiError(answer.status, `The server answered ${answer.status}.`);
  return answer.blob().catch(() => { throw new ApiError(0, "The connection was lost during the download."); });
}
