// A server of the HTTP API whose sessions are films: logs that a test writes
// event by event. It folds what it plays with the page's own fold, so that a
// film that could not happen is a failed test.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { token } from "./token.mjs";
import { emptyState, fold, openApprovals, running } from "../assets/fold.js";

/** What the permission of the films says. */
export const WORDS = "asks before edits, commands sandboxed in this directory";
const choices = { models: [{ name: "anthropic/claude-x", about: "200k tokens" }, { name: "anthropic/claude-y" }], efforts: ["low", "high"], permissions: [{ name: "ask", about: "asks" }, { name: "read-only", about: "refuses" }] };
const root = new URL("../", import.meta.url).pathname;
const types = { html: "text/html; charset=utf-8", css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml", webmanifest: "application/manifest+json" };

/** The policy that the Go handler sends. */
const policy = [.../const policy = ((?:"[^"]*"(?: \+\s*)?)+)/.exec(readFileSync(join(root, "handler.go"), "utf8"))[1].matchAll(/"([^"]*)"/g)].map((m) => m[1]).join("");

/** A session: its log, and short ways to write what happens. */
export class Film {
  constructor(server, id) {
    Object.assign(this, { server, id, settings: { model: "anthropic/claude-x", effort: "", permission: "ask", permission_words: WORDS }, log: [], lines: [], state: emptyState(), readers: new Set(), counts: {}, at: null, on: {} });
    this.tell("session.opened", { settle: "0.1.0", dir: "/home/ada/harbor", face: "serve", permission: "ask" }, { by: "host" });
  }

  /** The time of the next event; set `at` to play a film of the past, and `pass` to let time go. */
  now() { return this.at ?? Date.now(); }
  pass(ms) { this.at = this.now() + ms; return this; }
  fresh(letter) { return letter + String(this.counts[letter] = (this.counts[letter] ?? 0) + 1).padStart(6, "0"); }

  tell(kind, data = {}, env = {}) {
    return this.take({ v: 1, session: this.id, seq: this.log.length + 1, at: new Date(this.now()).toISOString(), ...env, kind, data });
  }

  /** Makes these events, of another film or of a log, the session's next ones; before the first, it has none. */
  load(events) {
    if (events[0]?.seq === 1) Object.assign(this, { log: [], lines: [], state: emptyState() });
    for (const e of events) this.take({ ...e, session: this.id });
  }

  take(e) {
    fold(this.state, e);
    const line = `id: ${e.seq}\nevent: event\ndata: ${JSON.stringify(e)}\n\n`;
    this.log.push(e);
    this.lines.push(line);
    for (const r of this.readers) r.write(line);
    return e;
  }

  env(extra) { return { turn: running(this.state)?.id, ...(this.attemptId ? { attempt: this.attemptId } : {}), ...extra }; }
  input(text, mode, id = this.fresh("n"), by = "web") { this.tell("input.accepted", { input: id, text, ...(mode ? { mode } : {}) }, { by }); return id; }
  turn(text, inputs) {
    const ids = inputs ?? [this.input(text)];
    const turn = this.fresh("t");
    this.attemptId = "";
    this.tell("turn.started", { inputs: ids, provider: "anthropic", model: "claude-x" }, { turn, by: "web" });
    return turn;
  }
  attempt(step = 1, n = 1, inputs) {
    this.attemptId = this.fresh("a");
    this.tell("attempt.started", { step, n, provider: "anthropic", model: "claude-x", ...(inputs ? { inputs } : {}) }, this.env());
    return this.attemptId;
  }
  attemptEnds(data = {}) { this.tell("attempt.ended", { outcome: "completed", stop_reason: "end_turn", usage: { input_tokens: 1200, output_tokens: 80 }, ...data }, this.env()); this.attemptId = ""; }
  start(type, data = {}) { const item = this.fresh("i"); this.tell("item.started", { type, ...data }, this.env({ item })); return item; }
  delta(item, text, stream = "text") { this.tell("item.delta", { stream, text }, this.envOf(item)); }
  envOf(item) { const i = running(this.state).itemById.get(item); return { turn: i.turn, ...(i.attempt ? { attempt: i.attempt } : {}), item }; }
  end(item, data = {}) {
    const i = running(this.state).itemById.get(item), c = i.content;
    this.tell("item.ended", { status: "completed", type: i.type, ...(i.type === "tool_call" ? { name: c.name, call_id: c.call_id, arguments: c.arguments, output: i.out } : { text: i.text }), ...data }, { ...this.envOf(item), ...(data.cause?.by ? { by: data.cause.by } : {}) });
  }
  say(text, type = "message", pace = 0, size = 24) {
    const item = this.start(type);
    for (let n = 0; n < text.length; n += size) { this.delta(item, text.slice(n, n + size)); if (pace) this.pass(pace); }
    this.end(item);
    return item;
  }
  ready(name, args) {
    const item = this.start("tool_call", { name, call_id: `call_${this.counts.i}` });
    this.tell("call.ready", { name, call_id: `call_${this.counts.i}`, arguments: JSON.stringify(args) }, this.envOf(item));
    return item;
  }
  runs(item, title) { this.tell("call.started", { title }, this.envOf(item)); return item; }
  asks(item, data) { const approval = this.fresh("p"); this.tell("approval.requested", { approval, ...data }, this.envOf(item)); return approval; }
  answered(approval, verdict, data = {}, by = "web") {
    const a = openApprovals(this.state).find((one) => one.approval === approval);
    this.tell("approval.ended", { approval, verdict, ...data }, { ...(a.background ? {} : this.envOf(a.call)), by });
  }
  completes(data = {}) { this.turnEnds("turn.completed", data); }
  turnEnds(kind, data, by) {
    const t = running(this.state);
    const usage = t.attempts.reduce((u, a) => ({ input_tokens: u.input_tokens + (a.end?.usage?.input_tokens ?? 0), output_tokens: u.output_tokens + (a.end?.usage?.output_tokens ?? 0) }), { input_tokens: 0, output_tokens: 0 });
    this.tell(kind, { steps: t.attempts.filter((a) => a.end.outcome === "completed").length, attempts: t.attempts.length, calls: t.items.filter((i) => i.started).length, usage, ...data }, { turn: t.id, ...(by ? { by } : {}) });
    this.attemptId = "";
  }

  /** Ends the running turn as an interrupt does, innermost first. */
  interrupted(by = "web", reason = "interrupted") {
    const t = running(this.state);
    if (!t) return {};
    const cause = { outcome: "aborted", reason, by };
    if (!t.interrupt) this.tell("interrupt.requested", { reason }, { turn: t.id, by });
    for (const a of openApprovals(this.state)) this.answered(a.approval, "expired", {}, by);
    for (const i of t.items) {
      if (i.status === "open") this.end(i.id, { status: "aborted", cause, ...(i.type === "tool_call" ? { effects: i.started ? "partial" : "none" } : {}) });
    }
    const a = t.attempts.at(-1);
    if (a && !a.end) { this.attemptId = a.id; this.attemptEnds({ outcome: "aborted", reason, stop_reason: undefined }); }
    for (const w of this.state.waiting) if (!w.held) this.tell("input.held", { input: w.id, reason }, { by });
    this.turnEnds("turn.aborted", { reason }, by);
    return { turn: t.id, outcome: "aborted", reason, by };
  }

  close(reason) { this.tell("session.closed", reason ? { reason } : {}, { by: "host" }); for (const r of this.readers) r.end("event: closed\ndata: {}\n\n"); this.readers.clear(); }
  answer(kind, ...args) { return this.on[kind]?.(...args); }

  /** As tail.go has it. */
  tail(turns) {
    const starts = this.log.filter((e) => e.kind === "turn.started");
    const first = Math.max(0, starts.length - turns);
    if (!turns || !first) return { after: 0, earlier: 0, inputs: [], jobs: [], created: this.log[0].at };
    const after = starts[first].seq - 1, s = emptyState();
    for (const e of this.log.slice(0, after)) fold(s, e);
    const input = (i) => ({ input: i.id, text: i.text, images: i.images, mode: i.mode, by: i.by, at: new Date(i.at).toISOString(), held: i.held });
    return {
      after, earlier: first, created: this.log[0].at, opened: s.host, inputs: [...this.state.waiting, ...this.state.turns.slice(first).flatMap((t) => [...t.inputs, ...t.attempts.flatMap((a) => a.inputs)])].map(input),
      jobs: s.jobs.filter((j) => !j.ended).map(({ ended, endedAt, ...j }) => ({ ...j, at: new Date(j.at).toISOString() })),
    };
  }

  summary() {
    const t = running(this.state), asks = openApprovals(this.state).length;
    return {
      id: this.id, title: this.name || (this.state.turns[0]?.inputs[0]?.text.split("\n")[0] ?? ""), dir: this.dir ?? "/home/ada/harbor", model: "anthropic/claude-x",
      outcome: this.state.turns.at(-1)?.cause?.outcome, reason: this.state.turns.at(-1)?.cause?.reason, ...(this.refuses ? { refuses: this.refuses } : {}),
      created: this.log[0].at, updated: this.log.at(-1).at, ...(this.trivial ? { trivial: true } : {}), ...(this.elsewhere ? { elsewhere: this.elsewhere } : {}), ...(this.heldCalls ? { held_calls: this.heldCalls } : {}), ...(this.childEntries ? { children: this.childEntries } : {}), state: !this.state.open ? "closed" : asks ? "waiting" : t ? "running" : "idle", approvals: asks, seq: this.log.length,
    };
  }
}

/** {url, films, film(id), requests, drop(), down(), up(), stop()} */
export async function fakeServer() {
  const films = new Map(), requests = [], sockets = new Set();
  let refusing = false, made = 0;
  const fake = { films, requests, token, paths: [], plugins: [], film(id) { const f = new Film(fake, id); films.set(id, f); return f; } };

  const server = createServer((req, res) => {
    const path = new URL(req.url, "http://x").pathname;
    if (!path.startsWith("/api/")) return asset(path, res);
    let body = "";
    req.on("data", (d) => { body += d; });
    req.on("end", () => {
      requests.push({ method: req.method, path: req.url, headers: req.headers, body: body ? JSON.parse(body) : null });
      api(req, res, path.split("/").slice(2).map(decodeURIComponent), body ? JSON.parse(body) : {});
    });
  });
  server.on("connection", (s) => {
    if (refusing) { s.destroy(); return; }
    sockets.add(s);
    s.on("close", () => sockets.delete(s));
  });
  await new Promise((r) => { server.listen(0, "127.0.0.1", r); });
  const { port } = server.address();

  function asset(path, res) {
    try {
      const name = path === "/" ? "index.html" : path.replace(/^\/assets\//, "");
      const data = readFileSync(join(root, "assets", name));
      res.writeHead(200, { "Content-Type": types[name.split(".").pop()], "Content-Security-Policy": policy, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff" }).end(data);
    } catch { res.writeHead(404).end(); }
  }

  const reply = (res, status, data) => { res.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json" }).end(status === 204 ? undefined : JSON.stringify(data)); };

  function api(req, res, [where, id, what, which, verb], body) {
    if (req.headers.authorization !== `Bearer ${fake.token}`) return reply(res, 401, { title: "Unauthorized", detail: "the token is missing or wrong" });
    if (where === "files") {
      const letters = new URL(req.url, "http://x").searchParams.get("match") ?? "";
      return reply(res, 200, { paths: fake.paths.filter((p) => p.includes(letters)) });
    }
    if (where === "plugins") return reply(res, 200, { plugins: fake.plugins });
    if (where === "settings") return reply(res, 200, { model: "anthropic/claude-x", effort: "", permission: "ask", permission_words: WORDS, ...choices });
    if (!id && req.method === "GET") return reply(res, 200, { sessions: [...films.values()].map((f) => f.summary()).sort((a, b) => b.updated.localeCompare(a.updated)), new: { dir: "/home/ada/harbor", model: "anthropic/claude-x", permission: "ask", permission_words: WORDS } });
    if (!id) { const f = films.get(body.id) ?? fake.film(body.id ?? `new-${++made}`); f.answer("open"); return reply(res, 201, { id: f.id }); }
    const f = films.get(id);
    if (!f) return reply(res, 404, { title: "missing", detail: `there is no session "${id}"` });
    if (!what) {
      if (req.method === "DELETE") { f.close(); return reply(res, 204); }
      return reply(res, 200, { ...f.summary(), ...f.settings, ...(f.host ? { host: f.host } : {}), ...(f.dead ? { state: "closed" } : {}), ...(f.held ? { held_calls: f.held } : {}), waiting: f.state.waiting, approvals: [], jobs: [], tail: f.tail(Number(new URL(req.url, "http://x").searchParams.get("turns"))) });
    }
    if (what === "settings" && req.method === "GET") return reply(res, 200, { ...f.settings, ...choices });
    if (what === "settings") {
      if (body.model === "nowhere/x") return reply(res, 400, { title: "Bad Request", detail: "there is no provider \"nowhere\"; nothing was changed" });
      Object.assign(f.settings, body, body.permission === "read-only" && { permission_words: "read-only, refuses changes" });
      return reply(res, 200, f.settings);
    }
    if (what === "rewind" && req.method === "GET") return reply(res, 200, { turn: new URL(req.url, "http://x").searchParams.get("input"), input: "Change it", ...f.plan });
    if (what === "rewind") {
      const copy = fake.film(`${id}-back`);
      return reply(res, 201, { id: copy.id, restored: body.keep_files ? [] : ["a.go"], ...(body.keep_files ? {} : { snapshot: "/data/rewound-1", undo: "settle rewind --undo /data/rewound-1" }) });
    }
    if (what === "name") { f.name = body.name; return reply(res, 204); }
    if (what === "fork") { const copy = fake.film(`${id}-copy`); copy.turn("Copied"); copy.interrupted(); return reply(res, 201, { id: copy.id }); }
    if (what === "log") { f.close(); films.delete(id); return reply(res, 204); }
    if (what === "events") return events(req, res, f);
    if (what === "inputs" && req.method === "POST") return input(res, f, body);
    if (what === "inputs") {
      const waits = f.state.waiting.some((i) => i.id === which);
      if (!waits) return reply(res, 409, { title: "not-waiting", detail: "the input is not waiting" });
      f.tell("input.dropped", { input: which }, { by: "web" });
      return reply(res, 204);
    }
    if (what === "interrupt") return Promise.resolve(f.on.interrupt ? f.on.interrupt(body) : f.interrupted()).then((o) => reply(res, 200, o ?? {}));
    if (what === "approvals") {
      const a = openApprovals(f.state).find((one) => one.approval === which);
      if (!a) return reply(res, 409, { title: "answered", detail: "the approval has been answered", verdict: "denied" });
      f.answered(which, body.verdict, { message: body.message, explain: body.explain, arguments: body.arguments });
      reply(res, 204);
      return f.answer("approval", a, body);
    }
    if (what === "calls" && verb === "cancel") { reply(res, 204); return f.answer("cancel", which); }
    if (what === "jobs") { f.tell("job.ended", { job: which, how: "killed", cause: { outcome: "aborted", reason: "interrupted", by: "web" } }, { by: "web" }); return reply(res, 204); }
    return reply(res, 404, { title: "nothing here" });
  }

  function input(res, f, body) {
    if (f.refuses) return reply(res, 409, { title: "Conflict", detail: f.refuses });
    if (f.state.accepted.has(body.input)) return reply(res, 202, { input: body.input, seq: 0, again: true });
    if (!f.state.open) f.tell("session.opened", { settle: "0.1.0", dir: "/home/ada/harbor", face: "serve" }, { by: "host" });
    f.input(body.text, body.mode === "queue" ? undefined : body.mode, body.input);
    reply(res, 202, { input: body.input, seq: f.log.length });
    f.answer("input", body);
  }

  function events(req, res, f) {
    const after = Number(req.headers["last-event-id"] ?? new URL(req.url, "http://x").searchParams.get("after") ?? 0);
    res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    res.write("retry: 2000\n\n");
    if (after > f.log.length) return res.end(`event: resync\ndata: {"seq":${f.log.length}}\n\n`);
    res.write(f.lines.slice(after).join(""));
    if (!f.state.open || f.dead) return res.end("event: closed\ndata: {}\n\n");
    f.readers.add(res);
    res.on("close", () => f.readers.delete(res));
  }

  return Object.assign(fake, {
    url: `http://127.0.0.1:${port}/`,
    /** Cuts every connection. */
    drop() { for (const s of sockets) s.destroy(); },
    down() { refusing = true; fake.drop(); },
    up() { refusing = false; },
    stop() { fake.drop(); return new Promise((r) => { server.close(r); }); },
  });
}
