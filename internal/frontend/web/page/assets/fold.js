// The state of a session is a fold over its events, in step with event.Fold in
// Go: what cannot follow is an error, and nothing else changes the state.
//
// Beyond Go's state it keeps, for the picture of a turn, when each attempt made
// progress (`first`, `last`) and where it was silent (`gaps`).

/** Silence within an attempt from which it is kept as a gap, in milliseconds. */
const GAP = 2000;

/** An event that cannot follow the events before it. */
export class OrderError extends Error {
  constructor(e, what) {
    super(`event ${e.seq} (${e.kind}) is out of order: ${what}`);
    this.name = "OrderError";
  }
}

export function emptyState() {
  return {
    session: "", seq: 0, open: false, host: null, created: 0, updated: 0,
    waiting: [], turns: [], jobs: [], children: [], hooks: [],
    turnById: new Map(), accepted: new Set(),
  };
}

/**
 * The state before the last turns of a session, as far as their events need it.
 * What began before them may be unknown: its end changes nothing.
 */
export function stateBefore(session, tail) {
  const s = emptyState();
  if (!tail?.after) return s;
  Object.assign(s, { session, seq: tail.after, open: true, host: tail.opened ?? {}, created: Date.parse(tail.created), partial: true, earlier: tail.earlier });
  for (const i of tail.inputs ?? []) s.waiting.push({ id: i.input, text: i.text, images: [...i.images ?? [], ...i.documents ?? []], mode: i.mode || "queue", by: i.by, at: Date.parse(i.at), held: i.held });
  for (const j of tail.jobs ?? []) s.jobs.push({ ...j, at: Date.parse(j.at), ended: null, endedAt: 0 });
  return s;
}

/** The turn that has started and not ended, or null. */
export function running(s) {
  const t = s.turns.at(-1);
  return t && !t.cause ? t : null;
}

/** The attempt of a turn that is running, or null. */
export function currentAttempt(t) {
  const a = t.attempts.at(-1);
  return a && !a.end ? a : null;
}

/** The approvals that wait for a word: the running turn's, oldest first, then those of children in the background. */
export function openApprovals(s) {
  const asked = [...running(s)?.approvals ?? [], ...s.children.filter((c) => !c.ended).flatMap((c) => c.approvals)];
  return asked.filter((a) => !a.ended);
}

/** The approval with the id, of a turn or of a child in the background. */
export function approvalOf(s, id) {
  return [...s.turns.map((t) => t.approvals), ...s.children.map((c) => c.approvals)].flat().findLast((a) => a.approval === id);
}

/** What an item says: all of it if it has ended, else what there is so far. */
export function content(i) {
  if (i.status !== "open") return i.content;
  return { ...i.content, text: i.text, output: i.out, arguments: i.ready ? i.content.arguments : i.args };
}

/**
 * Changes s by one event and returns it. Throws an OrderError, with s as it
 * was, if the event cannot follow.
 */
export function fold(s, e) {
  const check = (ok, what) => { if (!ok) throw new OrderError(e, what); };
  check(e.v === 1, `its schema has version ${e.v}, and this page knows 1`);
  check(e.seq === s.seq + 1, `it follows event ${s.seq}`);
  check(s.seq === 0 || e.session === s.session, `it belongs to session "${e.session}", not "${s.session}"`);
  const at = Date.parse(e.at);
  const apply = kinds[e.kind];
  if (apply) {
    if (e.kind !== "session.opened" && e.kind !== "session.recovered") check(s.open, "the session is not open");
    const t = running(s);
    if (e.turn && e.kind !== "turn.started") check(t?.id === e.turn, `turn "${e.turn}" is not running`);
    if (inTurn.has(e.kind) && !(e.kind.startsWith("approval.") && !e.turn)) check(t && e.turn, `turn "${e.turn ?? ""}" is not running`);
    apply({ s, e, d: e.data ?? {}, at, t, check });
  }
  if (s.seq === 0) { s.session = e.session; s.created = at; }
  s.seq = e.seq;
  s.updated = at;
  return s;
}

const inTurn = new Set([
  "history.changed",
  "attempt.started", "attempt.ended", "item.started", "item.delta", "item.ended", "call.ready", "call.started",
  "approval.requested", "approval.ended", "turn.completed", "turn.aborted", "turn.failed",
]);

const kinds = {
  "session.opened": ({ s, d, check }) => {
    check(!s.open, "the session is already open");
    s.open = true;
    s.host = d;
  },
  "session.recovered": sessionEnded,
  "session.closed": sessionEnded,
  "input.accepted": ({ s, e, d, at, check }) => {
    check(d.input, "the input has no id");
    check(!s.accepted.has(d.input), `input "${d.input}" was accepted before`);
    s.accepted.add(d.input);
    if (s.partial) s.waiting = s.waiting.filter((i) => i.id !== d.input); // it was not there before
    s.waiting.push({ id: d.input, text: d.text ?? "", images: [...d.images ?? [], ...d.documents ?? []], mode: d.mode || "queue", by: e.by, at, held: false });
  },
  "input.held": ({ s, d, check }) => {
    const input = s.waiting.find((i) => i.id === d.input);
    if (!input && s.partial) return;
    check(input, `input "${d.input}" does not wait`);
    input.held = true;
    input.heldFor = d.reason;
  },
  "input.dropped": (c) => { takeInputs(c, [c.d.input]); },
  "interrupt.requested": ({ e, d, at, t }) => {
    if (!e.turn) return;
    if (!e.item) t.interrupt ??= { ...d, by: e.by, at };
    else if (t.itemById.has(e.item)) t.itemById.get(e.item).cancel ??= { ...d, by: e.by, at };
  },
  "turn.started": (c) => {
    const { s, e, d, at, t, check } = c;
    check(!t, `turn "${t?.id}" is running`);
    check(e.turn && !s.turnById.has(e.turn), `"${e.turn ?? ""}" is not a new turn's id`);
    const turn = {
      id: e.turn, start: d, by: e.by, startedAt: at, endedAt: 0, inputs: takeInputs(c, d.inputs ?? []),
      attempts: [], items: [], approvals: [], changes: [], interrupt: null, cause: null, summary: null, itemById: new Map(),
    };
    s.turns.push(turn);
    s.turnById.set(turn.id, turn);
  },
  "history.changed": ({ d, at, t }) => { t.changes.push({ ...d, at }); },
  "turn.completed": (c) => turnEnded(c, { outcome: "completed" }),
  "turn.aborted": (c) => {
    turnEnded(c, { outcome: "aborted", reason: c.d.reason, limit: c.d.limit, by: c.e.by, message: c.d.message });
    if (c.d.stopped_at) stopAt(c.s, c.t, Date.parse(c.d.stopped_at));
  },
  "turn.failed": (c) => turnEnded(c, { outcome: "failed", error: c.d.error }),
  "attempt.started": (c) => {
    const { e, d, at, t, check } = c;
    check(!currentAttempt(t), `attempt "${currentAttempt(t)?.id}" is running`);
    check(e.attempt && !t.attempts.some((a) => a.id === e.attempt), `"${e.attempt ?? ""}" is not a new attempt's id`);
    const open = t.items.find((i) => i.status === "open");
    check(!open, `item "${open?.id}" is open`);
    t.attempts.push({
      id: e.attempt, turn: t.id, start: d, startedAt: at, endedAt: 0, inputs: takeInputs(c, d.inputs ?? []), end: null,
      first: 0, last: at, gaps: [],
    });
  },
  "attempt.ended": attemptEnded,
  "item.started": ({ e, d, at, t, check }) => {
    check(e.item && !t.itemById.has(e.item), `"${e.item ?? ""}" is not a new item's id`);
    if (e.attempt) check(currentAttempt(t)?.id === e.attempt, `attempt "${e.attempt}" is not running`);
    const item = {
      id: e.item, turn: t.id, attempt: e.attempt ?? "", type: d.type, status: "open", ready: false, started: false, discarded: false,
      effects: "", cause: null, title: "", begunAt: at, readyAt: 0, startedAt: 0, endedAt: 0, cancel: null,
      content: { type: d.type, provider_id: d.provider_id, call_id: d.call_id, name: d.name }, text: "", args: "", out: "",
    };
    t.items.push(item);
    t.itemById.set(item.id, item);
    progress(t, e, at);
  },
  "item.delta": ({ e, d, at, t, check }) => {
    const i = openItem(t, e, check);
    const call = i.type === "tool_call";
    if (d.stream === "text" && !call) i.text += d.text ?? "";
    else if (d.stream === "arguments" && call && !i.ready) i.args += d.text ?? "";
    else if (d.stream === "output" && call && i.started) { i.out += d.text ?? ""; return; }
    else check(false, `item "${i.id}" takes no ${d.stream} now`);
    progress(t, e, at);
  },
  "call.ready": ({ e, d, at, t, check }) => {
    const i = openItem(t, e, check);
    check(i.type === "tool_call" && !i.ready, `item "${i.id}" is not a call that waits for its arguments`);
    i.ready = true;
    i.readyAt = at;
    i.content.name = d.name;
    i.content.arguments = d.arguments ?? "";
    if (d.call_id) i.content.call_id = d.call_id;
    i.args = "";
    progress(t, e, at);
  },
  "call.started": ({ s, e, d, at, t, check }) => {
    const i = openItem(t, e, check);
    check(i.ready && !i.started, `item "${i.id}" is not a call that is ready to start`);
    const refused = t.approvals.find((a) => a.call === i.id && !granted(a));
    check(!refused, `approval "${refused?.approval}" was not given`);
    const barred = s.hooks.find((h) => h.turn === t.id && h.item === i.id && bars(h));
    check(!barred, `hook "${barred?.hook}" did not let it pass`);
    i.started = true;
    i.startedAt = at;
    if (d.arguments) i.content.effective_arguments = d.arguments;
    i.title = d.title ?? "";
  },
  "item.ended": itemEnded,
  "approval.requested": (c) => {
    const { s, e, d, at, t, check } = c;
    if (!e.turn) return childAsks(c);
    const i = t.itemById.get(e.item);
    check(i?.status === "open" && i.ready && (!i.started || d.child || d.form), `item "${e.item ?? ""}" is not a call that is ready to start`);
    check(!d.form || i.started, `call "${e.item ?? ""}" asks for input, and has not started`);
    check(!d.child || s.children.some((one) => one.child === d.child && one.item === e.item && !one.ended), `child "${d.child ?? ""}" does not run in call "${e.item}"`);
    check(d.approval && !t.approvals.some((a) => a.approval === d.approval), `"${d.approval ?? ""}" is not a new approval's id`);
    t.approvals.push({ ...d, call: e.item, at, ended: null, endedBy: "", endedAt: 0 });
  },
  "approval.ended": ({ s, e, d, at, t, check }) => {
    const asked = e.turn ? t.approvals : s.children.flatMap((one) => one.approvals);
    const a = asked.find((one) => one.approval === d.approval && !one.ended);
    if (!a && !e.turn && s.partial) return;
    check(a && !a.ended, `approval "${d.approval ?? ""}" does not wait`);
    a.ended = d;
    a.endedBy = e.by ?? "";
    a.endedAt = at;
  },
  "job.started": ({ s, e, d, at, check }) => {
    check(d.job && !s.jobs.some((j) => j.job === d.job), `"${d.job ?? ""}" is not a new job's id`);
    s.jobs.push({ ...d, turn: e.turn ?? "", item: e.item ?? "", at, ended: null, endedAt: 0 });
  },
  "job.ended": ({ s, d, at, check }) => {
    const j = s.jobs.find((one) => one.job === d.job && !one.ended);
    if (!j && s.partial) return;
    check(j, `job "${d.job ?? ""}" is not running`);
    j.ended = d;
    j.endedAt = at;
  },
  "child.started": ({ s, e, d, at, t, check }) => {
    check(d.child && !s.children.some((c) => c.child === d.child), `"${d.child ?? ""}" is not a new child's id`);
    if (e.turn && e.item) {
      const i = t.itemById.get(e.item);
      check(i?.status === "open" && i.started, `item "${e.item}" is not a call that runs`);
    }
    s.children.push({ ...d, turn: e.turn ?? "", item: e.item ?? "", at, ended: null, endedAt: 0, approvals: [] });
  },
  "child.ended": ({ s, d, at, check }) => {
    const c = s.children.find((one) => one.child === d.child && !one.ended);
    if (!c && s.partial) return;
    check(c, `child "${d.child ?? ""}" is not running`);
    const waits = c.approvals.find((a) => !a.ended);
    check(!waits, `approval "${waits?.approval}" waits`);
    c.ended = d;
    c.endedAt = at;
  },
  "hook.started": ({ s, e, d, at, t, check }) => {
    check(d.hook && !s.hooks.some((h) => h.hook === d.hook), `"${d.hook ?? ""}" is not a new hook's id`);
    const i = e.item ? t?.itemById.get(e.item) : null;
    check(!e.item || i, `item "${e.item ?? ""}" did not start`);
    check(!(i?.started && d.event === "PreToolUse"), `call "${e.item ?? ""}" has started`);
    s.hooks.push({ ...d, turn: e.turn ?? "", item: e.item ?? "", at, ended: null, endedAt: 0 });
  },
  "hook.ended": ({ s, e, d, at, check }) => {
    const h = s.hooks.find((one) => one.hook === d.hook && one.turn === (e.turn ?? "") && !one.ended);
    if (!h && s.partial) return;
    check(h, `hook "${d.hook ?? ""}" is not running`);
    check(["completed", "failed"].includes(d.outcome) || (d.outcome === "aborted" && d.cause), `"${d.outcome ?? ""}" is not an ending of hook "${d.hook ?? ""}"`);
    h.ended = d;
    h.endedAt = at;
  },
};

/** What a child in the background asks about is the session's, for as long as the child runs. */
function childAsks({ s, d, at, check }) {
  const c = s.children.findLast((one) => one.child === d.child);
  if (!c && s.partial) return;
  check(c && !c.turn && !c.ended, `child "${d.child ?? ""}" does not run in the background`);
  check(d.approval && !c.approvals.some((a) => a.approval === d.approval), `"${d.approval ?? ""}" is not a new approval's id`);
  c.approvals.push({ ...d, call: c.call ?? "", background: true, at, ended: null, endedBy: "", endedAt: 0 });
}

/** Whether a hook keeps what it is asked about from happening. */
function bars(h) {
  return ["UserPromptSubmit", "PreToolUse", "PermissionRequest"].includes(h.event) && (!h.ended || h.ended.outcome !== "completed" || h.ended.decision === "deny");
}

function sessionEnded({ s, check }) {
  check(!running(s), "a turn is running");
  check(s.jobs.every((j) => j.ended), "a job is running");
  check(s.children.every((c) => c.ended), "a child is running");
  check(s.hooks.every((h) => h.ended), "a hook is running");
  s.open = false;
}

/** Removes the inputs from those that wait, and returns them. */
function takeInputs({ s, check }, ids) {
  const taken = [], rest = [...s.waiting];
  for (const id of ids) {
    const at = rest.findIndex((i) => i.id === id);
    if (at < 0 && s.partial) continue;
    check(at >= 0, `input "${id}" does not wait`);
    taken.push(...rest.splice(at, 1));
  }
  s.waiting = rest;
  return taken;
}

function turnEnded({ s, d, at, t, check }, cause) {
  check(!currentAttempt(t), `attempt "${currentAttempt(t)?.id}" is running`);
  const open = t.items.find((i) => i.status === "open");
  check(!open, `item "${open?.id}" is open`);
  check(s.children.every((c) => c.turn !== t.id || c.ended), "a child is running");
  check(s.hooks.every((h) => h.turn !== t.id || h.ended), "a hook is running");
  t.cause = cause;
  t.endedAt = at;
  t.summary = { steps: d.steps ?? 0, attempts: d.attempts ?? 0, calls: d.calls ?? 0, denied: d.denied ?? 0, usage: d.usage ?? {}, cost: d.cost_usd ?? 0, unpriced: d.unpriced ?? 0 };
}

/**
 * Moves the ends of a turn whose host died, and of all that was open in it, back to the time of the last event
 * before: recovery found them later. The gaps of its attempts end then, too.
 */
function stopAt(s, t, at) {
  const children = s.children.filter((c) => c.turn === t.id);
  for (const one of [t, ...t.attempts, ...t.items, ...t.approvals, ...children]) one.endedAt = Math.min(one.endedAt, at);
  for (const a of t.attempts) {
    a.first = Math.min(a.first, at);
    a.last = Math.min(a.last, at);
    a.gaps = a.gaps.map(([from, to]) => [from, Math.min(to, at)]).filter(([from, to]) => to - from > GAP);
  }
}

function attemptEnded({ e, d, at, t, check }) {
  const a = currentAttempt(t);
  check(a?.id === e.attempt, `attempt "${e.attempt ?? ""}" is not running`);
  check(["completed", "aborted", "failed"].includes(d.outcome), `"${d.outcome}" is not an attempt's outcome`);
  const open = t.items.find((i) => i.status === "open" && i.attempt === a.id && !i.ready);
  check(!open, `item "${open?.id}" is open`);
  const discarded = (d.discarded ?? []).map((id) => t.itemById.get(id));
  discarded.forEach((i, n) => {
    check(i && i.attempt === a.id && !i.started && i.status !== "open", `item "${d.discarded[n]}" cannot be discarded`);
  });
  for (const i of discarded) i.discarded = true;
  if (a.first && at - a.last > GAP) a.gaps.push([a.last, at]);
  a.end = d;
  a.endedAt = at;
}

function itemEnded({ s, e, d, at, t, check }) {
  const i = openItem(t, e, check);
  const call = i.type === "tool_call";
  check(d.type === i.type, `item "${i.id}" is a ${i.type}, not a ${d.type}`);
  check(["completed", "failed", "aborted"].includes(d.status), `"${d.status}" is not an ended item's status`);
  check(d.status !== "aborted" || d.cause, `item "${i.id}" was aborted without a cause`);
  check(d.status !== "completed" || !call || i.started, `call "${i.id}" completed without having started`);
  check(!!d.effects === (call && d.status === "aborted"), `item "${i.id}" is ${d.status} with effects "${d.effects ?? ""}"`);
  check(!d.effects || (d.effects === "none") !== i.started, `call "${i.id}" has effects "${d.effects ?? ""}"`);
  if (call) {
    const waits = t.approvals.find((a) => a.call === i.id && !a.ended);
    check(!waits, `approval "${waits?.approval}" waits`);
    const child = s.children.find((c) => c.item === i.id && c.turn === t.id && !c.ended);
    check(!child, `child "${child?.child}" is running`);
    const hook = s.hooks.find((h) => h.item === i.id && h.turn === t.id && !h.ended);
    check(!hook, `hook "${hook?.hook}" is running`);
  }
  const { status, effects, cause, ...rest } = d;
  Object.assign(i, { status, effects: effects ?? "", cause: cause ?? null, endedAt: at, content: rest, text: "", args: "", out: "" });
  if (!call) progress(t, e, at);
}

function openItem(t, e, check) {
  const i = t.itemById.get(e.item);
  check(i, `item "${e.item ?? ""}" did not start`);
  check(i.status === "open", `item "${i.id}" has ended`);
  check(!e.attempt || e.attempt === i.attempt, `item "${i.id}" belongs to attempt "${i.attempt}", not "${e.attempt}"`);
  return i;
}

function granted(a) {
  return a.ended?.verdict === "approved" || a.ended?.verdict === "approved_session";
}

/** Notes that the model said something. */
function progress(t, e, at) {
  const a = currentAttempt(t);
  if (!a || !e.attempt || a.id !== e.attempt) return;
  if (!a.first) a.first = at;
  else if (at - a.last > GAP) a.gaps.push([a.last, at]);
  a.last = at;
}
