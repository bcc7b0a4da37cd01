// The page: which session is shown, when it is drawn, and the keys.

import * as api from "./api.js";
import { approvalsView } from "./approvals.js";
import { composerView } from "./composer.js";
import { h, show, text } from "./dom.js";
import { approvalOf, openApprovals, running } from "./fold.js";
import { eachOf } from "./guard.js";
import { homeView } from "./home.js";
import { jobsView } from "./jobs.js";
import { menuView } from "./menu.js";
import { reviewView } from "./review.js";
import { notifyView } from "./notify.js";
import { overviewView } from "./overview.js";
import { planView } from "./plan.js";
import { rewindView } from "./rewind.js";
import { openedSession } from "./session.js";
import { folded, matching, sessionsView } from "./sessions.js";
import { settingsView } from "./settings.js";
import { signInView } from "./signin.js";
import { totalWords } from "./timeline.js";
import { modes } from "./terms.js";
import * as token from "./token.js";
import { transcriptView } from "./transcript.js";
import { approvalWords, causeWords, count, duration, endingWords, turnWords } from "./words.js";
import { named } from "./visible.js";

const LIST_DELAY = 4000, OVERVIEW_DELAY = 1500, TICK = 250, REST_DELAY = 60_000;
const $ = (id) => document.getElementById(id);

/** What was chosen for the session that the next message begins. */
let next = {};
let session = null, sessions = [], readOnly = "", defaults = {}, changedRows = [], changedKeys = new Set(), scheduled = false, drawnSession = null, reading = false;

const app = {
  get state() { return session?.state ?? blank; },
  get shown() { return session?.shown ?? new Set(); },
  // Where nothing is known of what goes on, the time of the last event is all there is.
  now: () => session?.isElsewhere() ? session.state.updated : Math.max(Date.now() + api.clockSkew(), session?.state.updated ?? 0),
  approvalsOf: (i) => app.state.turnById.get(i.turn)?.approvals.filter((a) => a.call === i.id) ?? [],
  jobsOf: (i) => app.state.jobs.filter((j) => j.call === i.id && !j.ended),
  childrenOf: (i) => app.state.children.filter((c) => (c.call || c.item) === i.id),
  goTo: (key) => transcript.goTo(key),
  showDiscarded(a) {
    const on = !session.shown.delete(a.id);
    if (on) session.shown.add(a.id);
    change([], [`attempt ${a.id}`, ...(a.end.discarded ?? []).map((id) => `item ${id}`)]);
  },
  notice,
  held: () => session?.heldCalls() ?? [],
  rewind: (t) => rewinding.open(session.id, t.id),
  refuses: () => readOnly || (session?.refuses ?? ""),
  unsent: () => session?.unsent() ?? [],
  interrupting: () => (session?.interrupting ?? 0) > 0,
  saveDraft: (value) => keep(draftKey(), value),
  interrupt: () => session?.interrupt(),
  earlier() { reading = true; session?.earlier(); },
  dropInput: (i) => session.dropInput(i),
  answer: (a, verdict, more) => session.answer(a, verdict, more),
  cancelCall: (id) => session.cancelCall(id),
  killJob: (id) => session.killJob(id),
  /** Why a question cannot be answered here; "" for one that can. The held calls of a host that died can. */
  asksElsewhere: (a) => session?.isElsewhere() && !(a.held && session.host === null) ? session.elsewhereWords().question : "",
  attachCommand: () => session?.host ? `settle attach ${session.id}` : "",
  isAway: () => !!session?.isElsewhere(),
  takesOver: () => !!session?.isElsewhere() && !!session.host?.takes && !session.refuses,
  chooseSettings: () => openSettings(),
  write(words) { composer.setDraft(words); app.saveDraft(words); composer.focus(); },
  async submit(input) {
    if (!session) {
      const opened = await create();
      if (!opened) { composer.setDraft(input.text, input.images); app.saveDraft(input.text); return; }
    }
    session.submit(input);
    transcript.toEnd();
  },
};

const blank = { open: false, seq: 0, waiting: [], turns: [], jobs: [], children: [], turnById: new Map() };
const transcript = transcriptView($("scroller"), app);
const composer = composerView($("composer"), app);
const approvals = approvalsView($("approvals"), app);
const plan = planView($("plan"), app);
const jobs = jobsView($("jobs-button"), $("jobs"), app);
const list = sessionsView($("session-list"), app);
const home = homeView(app);
const overview = overviewView($("overview"), app);
const notify = notifyView($("notify"), {
  keep, kept, notice,
  openSession(id) { go(id); choose(id); },
  seen: (id) => session?.id === id && document.hasFocus(),
});
const rewinding = rewindView($("rewind"), (made, plan) => {
  go(made.id);
  choose(made.id);
  keep(`settle.draft.${made.id}`, plan.input);
  composer.setDraft(plan.input);
  composer.focus();
  listSessions();
  const restored = made.restored.length ? `Restored ${count(made.restored.length, "file")}. What was there before is in ${named(made.snapshot)}. To undo that, in a shell: ${named(made.undo)}` : "No file was changed.";
  notice(made.problem ? `${restored} ${named(made.problem)}` : restored);
});
const review = reviewView($("changes"), { send: (words) => { app.submit({ text: words, mode: "queue", images: [] }); }, keep, kept });
const settings = settingsView($("settings"), (id, now) => {
  if (!id) { next = now; drawEmpty(); return; }
  if (session?.id !== id) return;
  session.settings = now;
  session.wake(); // one that was closed is open now
  draw();
  listSessions();
});
composer.onMode(() => draw());

/** localStorage may be full or forbidden; then things are kept for as long as the page is. */
function keep(key, value) {
  try { if (value) localStorage.setItem(key, value); else localStorage.removeItem(key); } catch { /* not kept */ }
}

/** The draft of the session, or that of the start page. */
const draftKey = () => `settle.draft.${session?.id ?? ""}`;

function kept(key) {
  try { return localStorage.getItem(key) ?? ""; } catch { return ""; }
}

// What is shown.

function change(rows, keys) {
  changedRows.push(...rows);
  for (const key of keys) changedKeys.add(key);
  schedule();
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  if (document.hidden) setTimeout(draw, 500); else requestAnimationFrame(draw);
}

function draw() {
  scheduled = false;
  const rows = changedRows, keys = changedKeys;
  changedRows = [];
  changedKeys = new Set();
  eachOf(
    () => { if (session?.loaded) transcript.apply(rows, keys); },
    () => plan.update(), () => approvals.update(), () => composer.update(), () => jobs.update(), drawBar, drawEmpty,
  );
}

function drawBar() {
  const s = app.state, id = session?.id;
  const entry = sessions.find((one) => one.id === id);
  const set = session?.settings;
  const title = entry?.title || s.turns[0]?.inputs[0]?.text.split("\n")[0] || (id ? "New session" : isOverview() ? "Overview" : "settle");
  text($("title"), named(title).slice(0, 200));
  text($("where"), named([s.host?.dir ?? entry?.dir, set?.model || entry?.model, set?.effort && `${set.effort} effort`, (set?.permission_words ?? "").split(", ")[0] || (modes[set?.permission] ?? set?.permission), totalWords(s)].filter(Boolean).join(" \u00b7 ")));
  const asks = openApprovals(s).length || app.held().length, t = running(s);
  const elsewhere = !!session?.isElsewhere();
  const state = !session ? "" : elsewhere ? "not open here" : asks ? "asks" : t ? "running" : !session.loaded ? "" : s.open ? "idle" : "closed";
  const last = s.turns.at(-1)?.cause;
  $("state").dataset.state = state;
  $("state").dataset.outcome = last?.outcome ?? "";
  text($("state"), state === "closed" || state === "idle" ? endingWords(last?.outcome, last?.reason) || state : state);
  if (state === "closed") $("state").title = "The session is closed. Sending a message reopens it."; else $("state").removeAttribute("title");
  document.title = `${asks ? "(asks) " : t ? "\u25b8 " : ""}${title.slice(0, 60)}${id ? " \u2013 settle" : ""}`;
  show($("session-tools"), !!session && session.loaded);
  show($("close-session"), !!s.open);
  drawLink();
}

function drawLink() {
  const lost = session && session.link === "lost" && !session.missing;
  show($("link"), !!lost);
  if (lost) {
    const left = Math.max(0, Math.ceil((session.retryAt - Date.now()) / 1000));
    text($("link-words"), left ? `Not connected. Retrying in ${left} s; nothing is lost.` : "Not connected. Retrying; nothing is lost.");
  }
  const away = session?.isElsewhere() ? session.elsewhereWords() : null;
  show($("elsewhere"), !!away);
  text($("elsewhere-words"), away?.session ?? "");
  text($("open-here"), away?.open ?? "");
  show($("open-here"), !!away?.open);
  document.body.classList.toggle("away", !!away);
  document.body.classList.toggle("hosted", !!away && session.host !== null);
  show($("problem"), !!session?.problem);
  text($("problem-words"), session?.problem ?? "");
}

function drawEmpty() {
  if (!session) {
    home.update(sessions, { ...defaults, words: defaults.permission_words, ...next, ...(next.permission ? { words: modes[next.permission] ?? next.permission } : {}), writes: !readOnly });
    transcript.setEmpty(home.el, ...(readOnly ? [h("p", null, named(readOnly))] : []));
  } else if (session.missing) {
    transcript.setEmpty(h("h2", null, session.missing === 404 ? "Session not found" : "This session cannot be shown"), h("p", null, named(session.why ?? "It may have been deleted. Choose another session from the list.")));
  } else if (session.loaded && !session.state.turns.length && !session.state.waiting.length && !session.unsent().length) {
    home.update(sessions, { id: session.id, dir: session.state.host?.dir, model: session.settings?.model, permission: session.settings?.permission, words: session.settings?.permission_words, writes: !readOnly });
    transcript.setEmpty(home.el);
  } else if (!session.loaded && session.slow) {
    transcript.setEmpty(h("p", { class: "faint" }, session.slow));
  } else transcript.setEmpty();
}

let noticeTimer = 0;

function notice(words) {
  text($("notice"), words);
  show($("notice"), true);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => show($("notice"), false), 8000);
}

/** What a person who does not see the page should hear. */
function announce(words) {
  $("live").append(h("p", null, words.slice(0, 500)));
  while ($("live").children.length > 5) $("live").firstElementChild.remove();
}

function hear(e) {
  const s = session.state, t = s.turnById.get(e.turn);
  switch (e.kind) {
    case "turn.started": announce("The turn started."); break;
    case "turn.completed":
    case "turn.aborted":
    case "turn.failed": announce(`${turnWords(t)} after ${duration(t.endedAt - t.startedAt)}.`); break;
    case "approval.requested": announce(`${e.data.tool} asks for approval: ${e.data.title ?? ""}. Press Alt A to go to it.`); break;
    case "approval.ended": announce(approvalWords(approvalOf(s, e.data.approval))); break;
    case "input.held": announce("An input is held."); break;
    case "item.ended": {
      const i = t.itemById.get(e.item);
      if (i.type === "message") announce(i.content.text ?? "");
      else if (i.type === "tool_call") announce(`${i.content.name} ${i.status}${i.cause ? `: ${causeWords(i.cause)}` : ""}`);
    }
  }
}

// Which session it is.

function choose(id) {
  if (id) showOverview(false);
  if (session?.id === id) return;
  session?.stop();
  session = null;
  changedRows = [];
  changedKeys.clear();
  if (!id) { drawnSession = null; transcript.reset([]); composer.setDraft(kept(draftKey())); draw(); return; }
  keep("settle.last", id);
  const began = performance.now();
  const mine = openedSession(id, {
    begin(rows) {
      if (mine !== session) return;
      changedRows = [];
      changedKeys.clear();
      transcript.setEmpty();
      const before = drawnSession === id ? transcript.first() : "";
      transcript.reset(rows, mine.state.earlier, reading ? before : "");
      reading = false;
      drawnSession = id;
      draw();
      document.body.dataset.shown = id;
    },
    loading(seq, until) {
      if (mine !== session || performance.now() - began < 400) return;
      session.slow = `Reading ${Math.floor(seq / until * 100)} % of ${until} events`;
      schedule();
    },
    change(rows, touched, events) {
      if (mine !== session || !session.loaded) return;
      for (const e of events) eachOf(() => hear(e));
      change(rows, touched);
    },
    link() { if (mine === session) schedule(); },
    held() {
      if (mine !== session) return;
      if (app.held().length) announce("A call that waited when settle stopped asks for approval. Press Alt A to go to it.");
      schedule();
    },
    notice,
    giveBack(input) { composer.setDraft([input.text, kept(`settle.draft.${id}`)].filter(Boolean).join("\n")); },
  });
  session = mine;
  if (drawnSession && drawnSession !== id) transcript.reset([]);
  composer.setDraft(kept(`settle.draft.${id}`));
  jobs.close();
  closeDrawer();
  drawList();
  draw();
}

/** Shows the start page. Nothing is stored before the first message. */
function begin() {
  if (location.hash !== "#/") history.pushState(null, "", "#/");
  showOverview(false);
  choose("");
  closeDrawer();
  drawList();
  composer.focus();
}

async function create() {
  if (readOnly) { notice(named(readOnly)); return false; }
  let made = null;
  try {
    made = await api.openSession();
    if (Object.keys(next).length) await api.changeSettings(made.id, next);
    next = {};
    go(made.id);
    choose(made.id);
    listSessions();
    composer.focus();
    return true;
  } catch (e) {
    if (made) api.deleteSession(made.id).catch(() => { /* an empty one stays */ });
    notice(`Cannot create a session: ${e.message}`);
    return false;
  }
}

const go = (id) => { history.pushState(null, "", `#/s/${encodeURIComponent(id)}`); };

/** Saves the session's events as a file. */
async function exportSession() {
  const { id } = session;
  try {
    const file = URL.createObjectURL(await api.exported(id));
    const link = h("a", { href: file, download: `${id}.jsonl` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(file), 60_000); // the browser has begun to read it
  } catch (e) {
    notice(`Cannot export the session: ${e.message}`);
  }
}

/** Asks with a button, and with a line of text unless it is null. Returns the text; null for no. */
function ask(title, words, yes, line) {
  text($("ask-title"), title);
  text($("ask-words"), words);
  text($("ask-yes"), yes);
  show($("ask-text"), line !== null);
  $("ask-text").value = line ?? "";
  $("ask").returnValue = "";
  $("ask").showModal();
  return new Promise((done) => {
    $("ask").addEventListener("close", () => done($("ask").returnValue === "yes" ? $("ask-text").value : null), { once: true });
  });
}

/** Does something with the session that is shown, and asks for the list. */
async function act(what, f) {
  try {
    await f(session.id);
    await listSessions();
  } catch (e) {
    notice(`Cannot ${what}: ${e.message}`);
  }
}

async function renameSession() {
  const { id } = session;
  const name = await ask("Rename this session", "An empty name brings the first words back.", "Rename", $("title").textContent);
  if (name !== null) await act("rename the session", () => api.rename(id, name.trim()));
}

const forkSession = () => act("fork the session", async (id) => {
  const copy = await api.fork(id);
  go(copy.id);
  choose(copy.id);
});

async function deleteSession() {
  const { id } = session;
  const yes = await ask("Delete this session?", "This ends its turn and its jobs, and deletes the conversation. It cannot be brought back.", "Delete session", null);
  if (yes === null) return;
  await act("delete the session", async () => {
    await api.deleteSession(id);
    if (session?.id !== id) return;
    keep("settle.last", "");
    history.pushState(null, "", "#/");
    choose("");
  });
}

function showOverview(on) {
  document.body.classList.toggle("overview", on);
  show($("overview"), on);
  if (on) $("overview-link").setAttribute("aria-current", "page"); else $("overview-link").removeAttribute("aria-current");
}

const isOverview = () => !$("overview").hidden;

/** The settings of the session, or those of the next one. */
function openSettings() {
  if (readOnly) notice(named(readOnly));
  else if (!session) settings.open("", next);
  else if (session.isElsewhere() && session.host !== null) notice("Only the process that has the session open changes its settings.");
  else settings.open(session.id);
}

function openChanges() {
  if (session) review.open(session.id, session.state); else notice("No session is open.");
}

function route() {
  if (token.takeFromAddress()) { enter(); return; }
  if (!token.known()) return;
  const was = isOverview();
  showOverview(location.hash === "#/overview");
  if (isOverview()) { closeDrawer(); overview.update(sessions); }
  if (isOverview() && !was) overview.focus();
  const m = /^#\/s\/(.+)$/.exec(location.hash);
  let id = "";
  try { id = m ? decodeURIComponent(m[1]) : ""; } catch { /* no session has such an id */ }
  choose(id);
}

let listing = false;

async function listSessions() {
  if (listing || !token.known()) return;
  listing = true;
  try {
    const before = sessions.find((s) => s.id === session?.id);
    ({ sessions, readOnly, defaults } = await api.sessions());
    if (document.body.classList.toggle("reading", !!readOnly)) schedule();
    const entry = sessions.find((s) => s.id === session?.id);
    // Somebody else may have gone on with a session that was closed.
    if (entry && before && (entry.state !== "closed" || entry.updated !== before.updated)) session.wake();
    // What was not there, or could not be read, may be there now.
    if (session?.missing && entry && entry.updated !== before?.updated) { const { id } = session; choose(""); choose(id); }
    session?.flush();
    notify.update(sessions);
    if (isOverview()) overview.update(sessions);
    drawList();
    drawBar();
    drawEmpty();
    show($("list-problem"), false);
  } catch (e) {
    text($("list-problem"), e.message);
    show($("list-problem"), e.status !== 401);
  } finally {
    listing = false;
  }
}

function drawList() {
  // Our own session is known better than by asking.
  const own = session?.loaded ? session.state : null;
  const said = $("search").value.trim(), fold = (all) => said ? all : folded(all, session?.id);
  list.update(fold(matching(sessions, said).map((s) => s.id === session?.id && own ? {
    ...s, outcome: own.turns.at(-1)?.cause?.outcome, reason: own.turns.at(-1)?.cause?.reason, approvals: openApprovals(own).length, held_calls: app.held().length, elsewhere: session.isElsewhere() ? s.elsewhere : undefined, state: openApprovals(own).length ? "waiting" : running(own) ? "running" : own.open ? "idle" : "closed",
  } : s)), session?.id);
}

// Keys, and the rest of the furniture.

const drawer = (on) => {
  document.body.classList.toggle("drawer", on);
  $("menu").setAttribute("aria-expanded", String(on));
  if (on) ($("session-list").querySelector("[aria-current]") ?? $("new")).focus();
};
const menu = menuView($("more"), $("rare"));
const closeDrawer = () => drawer(false);

function escape(e) {
  // The browser empties a search field.
  if (e.target === $("search") && e.target.value) return;
  e.preventDefault();
  // What lies on top goes first: nobody means the turn then.
  if (document.body.classList.contains("drawer")) { closeDrawer(); $("menu").focus(); }
  else if (menu.close()) $("more").focus();
  else if (jobs.close()) $("jobs-button").focus();
  // In a field of a form or a search, nobody means the turn either.
  else if (!e.target.closest?.("input, textarea, select, .fields") || e.target.closest("#composer")) session?.interrupt();
}

function neighbour(by) {
  const n = sessions.findIndex((s) => s.id === session?.id);
  const next = sessions[n < 0 ? 0 : n + by];
  if (next) { go(next.id); choose(next.id); }
}

const step = (by) => isOverview() ? overview.step(by) : transcript.step(by);

document.addEventListener("keydown", (e) => {
  // The keys are listed over any dialog.
  if (e.key === "?" && !e.defaultPrevented && !e.ctrlKey && !e.metaKey && !e.altKey && !e.target.closest?.("input:not([type=radio]), textarea, select") && token.known()) {
    e.preventDefault();
    if (!$("help").open) $("help").showModal();
    return;
  }
  if (e.defaultPrevented || e.isComposing || $("help").open || $("confirm").open || $("changes").open || $("ask").open || $("settings").open || $("rewind").open) return;
  const typing = e.target.closest?.("input, textarea, select");
  const plain = !e.ctrlKey && !e.metaKey && !e.altKey;
  const done = () => e.preventDefault();
  if (e.key === "Escape" && plain) { escape(e); return; }
  if (e.altKey && !e.ctrlKey && !e.metaKey) {
    if (e.code === "KeyA") { done(); if (!approvals.focus()) notice("No approval is waiting."); }
    else if (e.key === "ArrowUp") { done(); neighbour(-1); }
    else if (e.key === "ArrowDown") { done(); neighbour(1); }
    else if (e.code === "KeyN") { done(); begin(); }
    else if (e.code === "KeyO") { done(); if (isOverview()) overview.focus(); else location.hash = "#/overview"; }
    else if (e.code === "KeyS") { done(); openSettings(); }
    else if (e.code === "KeyC") { done(); openChanges(); }
    return;
  }
  if (typing || !plain) return;
  if (e.key === "/") { done(); composer.focus(); }
  else if (e.key === "j" || e.key === "ArrowDown" && isOverview()) { done(); step(1); }
  else if (e.key === "k" || e.key === "ArrowUp" && isOverview()) { done(); step(-1); }
  else if (e.key === "G" || e.key === "End" && !e.shiftKey) { done(); transcript.toEnd(); composer.focus(); }
});

$("menu").addEventListener("click", () => drawer(!document.body.classList.contains("drawer")));
$("shade").addEventListener("click", closeDrawer);
$("new").addEventListener("click", begin);
$("skip").addEventListener("click", () => composer.focus());
$("open-here").addEventListener("click", () => session?.openHere());
$("settings-button").addEventListener("click", openSettings);
$("export").addEventListener("click", exportSession);
$("rename").addEventListener("click", renameSession);
$("fork").addEventListener("click", forkSession);
$("delete").addEventListener("click", deleteSession);
$("search").addEventListener("input", drawList);
$("changes-button").addEventListener("click", openChanges);
$("dismiss").addEventListener("click", () => { if (session) session.problem = ""; drawLink(); });
$("retry").addEventListener("click", () => session?.retry());
$("help-button").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
$("close-session").addEventListener("click", () => $("confirm").showModal());
$("confirm-no").addEventListener("click", () => $("confirm").close());
$("confirm-yes").addEventListener("click", () => { $("confirm").close(); session?.closeSession(); });
addEventListener("hashchange", route);
addEventListener("popstate", route);
addEventListener("online", () => { session?.retry(); listSessions(); });

let hiddenAt = 0;
document.addEventListener("visibilitychange", () => {
  hiddenAt = document.hidden ? Date.now() : 0;
  if (document.hidden) return;
  session?.rouse();
  session?.retry();
  schedule();
  listSessions();
});

setInterval(() => {
  if (document.hidden) {
    // A browser has few connections to a server: a hidden page in which nothing runs gives its own back.
    if (session?.isLive() && !session.resting && hiddenAt && Date.now() - hiddenAt > REST_DELAY && !running(session.state)) session.rest();
    return;
  }
  const t = session?.loaded ? running(session.state) : null;
  if (t && !session.isElsewhere()) {
    const keys = t.items.filter((i) => i.status === "open" && i.started).map((i) => `item ${i.id}`);
    const last = t.attempts.at(-1);
    if (last?.end?.retry_in_ms !== undefined) keys.push(`attempt ${last.id}`);
    change([], keys);
  } else if (session?.link === "lost") drawLink();
  drawList();
}, TICK);
setInterval(() => {
  if (document.hidden && !notify.isOn()) return; // who wants to be told is told also of what a hidden page learns
  listSessions();
  if (!document.hidden && (session?.isElsewhere() || session?.refuses)) session.refresh();
}, LIST_DELAY);
setInterval(() => { if (isOverview() && !document.hidden) listSessions(); }, OVERVIEW_DELAY);

// Who may see it.

const signIn = signInView($("sign-in"), enter);

token.whenRefused(() => {
  if (document.body.classList.contains("out")) return;
  token.keep("");
  choose("");
  signIn.show("The server no longer accepts this tab's token. Unless you use a token file, the server creates a new token each time it starts.");
});

function enter() {
  signIn.hide();
  if (!location.hash && kept("settle.last")) history.replaceState(null, "", `#/s/${encodeURIComponent(kept("settle.last"))}`);
  choose("");
  route();
  listSessions();
}

token.takeFromAddress();
if (token.known()) enter(); else signIn.show("");
