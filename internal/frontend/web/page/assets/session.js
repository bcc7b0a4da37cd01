// The session that the page shows: its state, kept by the stream of its events,
// and what a person does to it. It draws nothing; `on` says what to draw:
// on.begin(rows), on.change(rows, touched, events), on.link(), on.notice(words).

import * as api from "./api.js";
import { outbox } from "./composer.js";
import { emptyState, fold, running, stateBefore } from "./fold.js";
import { follow } from "./rows.js";
import { readEvents } from "./stream.js";
import { answers } from "./terms.js";
import { hostWords } from "./words.js";

/** How many turns are read at first, and how many times more when earlier ones are wanted. */
const TURNS = 20, MORE = 4;
/** The age, in milliseconds, from which it is asked anew which process has the session open. */
const STALE = 1000;
/** How long until the held calls are asked for again after a failure. */
const HELD_DELAY = 2000;

/** The held calls of a snapshot, as approvals. */
const heldOf = (snap) => (snap.held_calls ?? []).map((one) => ({ ...one, call: one.item, held: true }));

/** The model that a turn starts with, as settings name it. */
const modelOf = (e) => [e.data.provider, e.data.model].filter(Boolean).join("/");

export function openedSession(id, on) {
  const self = {
    id, state: emptyState(), shown: new Set(), loaded: false, link: "connecting", retryAt: 0, total: 0, missing: 0, problem: "",
    interrupting: 0, refuses: "", settings: null, held: [],
    looking: false, // whether it is read although this server does not have it open
    host: undefined, // the process outside of this server that has the session open; null for none, undefined while that is not known
  };
  let stream = null, closed = false, until = 0, pending = [], resyncs = 0, dim = null, turns = TURNS, from = 0, asked = 0, learnedAt = 0;
  const box = outbox(id, {
    changed: () => on.change([], [], []),
    arrived: () => self.wake(), // it opens a session that was closed
    refused(input, e) {
      on.notice(`Not accepted: ${e.message} Your message is back in the box.`);
      on.giveBack(input);
    },
  });

  /** Reads from the beginning; what is shown stays until all is there. */
  async function begin() {
    let snap;
    for (let delay = 500; ; delay = Math.min(8000, delay * 2)) {
      if (closed) return;
      try {
        snap = await api.snapshot(id, turns);
        break;
      } catch (e) {
        if (closed) return;
        if (e.status && e.status < 500 && e.status !== 429) { gone(e.status, e.message); return; }
        setLink("lost", Date.now() + delay);
        await new Promise((r) => { dim = r; setTimeout(r, delay); });
      }
    }
    until = snap.seq ?? 0;
    learn(snap);
    self.problem = "";
    self.total = until;
    pending = [];
    from = snap.tail?.after ?? 0;
    self.next = stateBefore(id, snap.tail);
    attach(from);
    if (until === from) arrived();
  }

  function attach(after, lastId) {
    stream?.stop();
    self.ended = false;
    stream = readEvents(id, after, lastId, {
      event: take,
      link: (state, at) => { setLink(state, at); if (state === "live") box.flush(); },
      closed: () => { self.ended = true; if (self.next) arrived(); setLink("live", 0); if (performance.now() - learnedAt > STALE) { self.host = undefined; readHost(); } },
      problem: (why) => {
        self.ended = true;
        self.problem = `Cannot read more: ${why}`;
        if (self.next) arrived();
        setLink("live", 0);
      },
      gone: (status) => gone(status),
      resync: () => {
        if (resyncs++ > 3) { gone(0, "This page does not match the server's log. Reload the page."); return; }
        on.notice("The server lost events that this page had; reading them again.");
        begin();
      },
    });
  }

  function take(e) {
    const s = self.next ?? self.state;
    let drawn = { rows: [], touched: [] };
    try {
      fold(s, e);
      drawn = follow(s, e);
    } catch (err) {
      s.seq = e.seq; // what follows is shown none the less
      self.problem = `Event ${e.seq} could not be shown (${err.message}). The others are shown.`;
      console.error(err);
    }
    if (e.kind === "session.opened" && !self.next) self.looking = false; // by this server, or the stream ends
    if (!self.next && (e.kind === "session.opened" || e.kind === "turn.started" && modelOf(e) !== self.settings?.model)) readHost();
    if (e.kind === "input.accepted") box.accepted(e.data.input);
    if (changesHeld(e)) readHeld();
    if (self.next) {
      pending.push(...drawn.rows);
      if (s.seq >= until) arrived(); else on.loading(s.seq - from, until - from);
      return;
    }
    on.change(drawn.rows, drawn.touched, [e]);
  }

  /** Whether the event can change which calls are held. The server derives that, since their ids are its hashes. */
  function changesHeld(e) {
    if (self.next) return false; // the snapshot is as new
    // An approved call that had not started waits again when its turn is interrupted.
    return ["turn.aborted", "session.recovered", "session.opened", "input.dropped"].includes(e.kind) || !!e.data?.held_call;
  }

  /** Asks which process has the session open, and for the settings in force. */
  async function readHost() {
    try { learn(await api.snapshot(id)); } catch { /* refresh() asks again */ }
    on.change([], [], []);
  }

  function learn(snap) {
    learnedAt = performance.now();
    Object.assign(self, { looking: snap.state === "closed", settings: snap, refuses: snap.refuses ?? "", held: heldOf(snap), host: snap.host ?? null });
  }

  async function readHeld() {
    if (++asked > 1) return; // one request at a time; what changes meanwhile asks again
    for (let before = 0; asked > before && !closed;) {
      before = asked;
      try {
        self.held = heldOf(await api.snapshot(id));
      } catch (e) {
        if (e.status && e.status < 500 && e.status !== 429) break;
        before = 0; // the server that has ended may come back
        await new Promise((r) => { setTimeout(r, HELD_DELAY); });
      }
    }
    asked = 0;
    on.held();
  }

  /** All that there was is here. */
  function arrived() {
    self.state = self.next;
    self.next = null;
    self.loaded = true;
    resyncs = 0;
    const rows = pending;
    pending = [];
    on.begin(rows);
  }

  function gone(status, message) {
    self.ended = true;
    self.missing = status || -1;
    self.why = message;
    on.link();
  }

  function setLink(state, at) {
    // Trying again after a loss is still a loss until it works.
    self.link = state === "connecting" && self.link === "lost" ? "lost" : state;
    self.retryAt = at ?? 0;
    on.link();
  }

  /** Does f, and says in a notice why it did not work. Returns whether it did. */
  async function attempt(what, f) {
    try {
      await f();
      self.wake();
      return true;
    } catch (e) {
      on.notice(`${what}: ${e.message}`);
      return false;
    }
  }

  begin();
  return Object.assign(self, {
    submit: (input) => box.add(input),
    unsent: () => box.list(),
    flush: () => box.flush(),
    /** Reads more of the earlier turns; what is shown stays until they are here. */
    async earlier() {
      if (!self.state.earlier || self.next) return;
      turns *= MORE;
      await begin();
    },
    /** Asks whether the server takes inputs by now, and reads on. */
    async refresh() {
      try { learn(await api.snapshot(id)); } catch { /* said by the stream */ }
      self.wake();
      on.change([], [], []);
    },
    /** Reads on where reading had ended, such as after a session was opened again. */
    wake() {
      if (!self.ended || self.missing || closed) return;
      self.looking = self.isElsewhere();
      attach(stream.cursor(), stream.lastId());
    },
    retry() { stream?.retry(); dim?.(); box.flush(); },
    async interrupt() {
      if (self.isElsewhere()) return;
      const t = running(self.state), unsent = box.list().find((i) => i.sending);
      const begins = self.state.waiting.some((i) => !i.held); // its turn is about to be told of
      if (!t && !unsent && !begins) return;
      const what = t || begins ? {} : { input: unsent.id };
      if (self.interrupting) what.hurry = true;
      self.interrupting++;
      on.change([], [], []);
      await attempt("Cannot interrupt", async () => {
        const ended = await api.interrupt(id, what);
        if (!ended?.turn) on.notice("Nothing was running.");
      });
      self.interrupting--;
      on.change([], [], []);
    },
    async dropInput(input) {
      if (box.has(input.id) && !input.sending) { box.remove(input.id); return true; }
      return attempt("Cannot take the input back", () => api.drop(id, input.id));
    },
    /** Returns why the answer did not count, or null. */
    async answer(a, verdict, more) {
      try {
        await api.answer(id, a.approval, verdict, more);
        if (a.held) { self.held = self.held.filter((one) => one.approval !== a.approval); on.held(); }
        self.wake();
        return null;
      } catch (e) {
        const given = e.status === 409 ? e.problem.verdict : "";
        if (a.held && (e.status === 409 || e.status === 404)) {
          // Somebody else was first: the card goes, and the words stay.
          on.notice(given ? `Already answered: ${answers[given]?.[1] ?? given}` : e.message);
          readHeld();
        }
        return given && given !== "expired" ? `Already answered: ${answers[given]?.[1] ?? given}` : e.message;
      }
    },
    cancelCall: (item) => attempt("Cannot cancel the call", () => api.cancelCall(id, item)),
    killJob: (job) => attempt("Cannot kill the job", () => api.killJob(id, job)),
    closeSession: () => attempt("Cannot close the session", () => api.closeSession(id)),
    /** Whether reading ended although the log did not: the host died, or another process has the session. */
    isElsewhere: () => self.loaded && !self.missing && (self.ended || self.looking) && self.state.open,
    /** What is said of a session that is not open here: about it, about its questions, and what opening it here is called; "" if that is not possible. */
    elsewhereWords() {
      if (self.host === undefined) return { session: "This session is not open on this server.", question: "It does not ask on this server.", open: "" };
      if (!self.host) return { session: `Its host died.${self.refuses ? "" : " Opening it here ends what it left open; the conversation is kept."}`, question: `The process that asked has ended.${self.refuses ? "" : " Open the session here to continue."}`, open: self.refuses ? "" : "Open here" };
      const who = hostWords(self.host), takes = self.host.takes && !self.refuses;
      return { session: `This session is open in ${who}. The page checks for new events every few seconds.${takes ? " Taking it over ends the turn that runs there." : ""}`, question: `It asks in ${who}, not here.`, open: takes ? "Take over" : "" };
    },
    openHere: () => attempt("Cannot open the session", () => api.openSession(id)),
    /** The questions of calls that waited when an earlier host ended, unless something runs or the server takes no answers. */
    heldCalls: () => !self.loaded || self.refuses || running(self.state) && !self.isElsewhere() ? [] : self.held,
    isLive: () => !!stream && !self.ended,
    stop() { closed = true; box.stop(); stream?.stop(); dim?.(); },
    rest() { stream?.stop(); self.resting = true; },
    rouse() { if (self.resting) { self.resting = false; attach(stream.cursor(), stream.lastId()); } },
  });
}
