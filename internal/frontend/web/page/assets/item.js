// Views of items: messages, reasoning, notes and calls with their endings.
// A view is {el, update()}; it reads the item anew each time.

import { content } from "./fold.js";
import { h, show, text, toggle } from "./dom.js";
import { changes } from "./diff.js";
import { codeBlock, diffBlock, markdownView } from "./markup.js";
import { planList, planSteps } from "./plan.js";
import { answers } from "./terms.js";
import { approvalWords, bytes, causeWords, count, denied, duration, effectsWords, sentence } from "./words.js";
import { named, prose, terminal, terminalSpans } from "./visible.js";

/** The view of an item; `app` gives {state, now(), cancelCall(id), openSession(id), shown}. */
export function itemView(i, app) {
  switch (i.type) {
    case "tool_call": return callView(i, app);
    case "reasoning": return reasoningView(i, app);
    case "note": return noteView(i, app);
  }
  return messageView(i, app);
}

/** A discarded item is shown only when somebody asked to see what its attempt left. */
function discarded(el, i, app) {
  toggle(el, "discarded", i.discarded);
  show(el, !i.discarded || app.shown.has(i.attempt));
}

/** What is said below an item that was cut. */
function cut(i) {
  return i.status === "aborted" ? sentence(causeWords(i.cause)) : i.status === "failed" ? `Failed: ${causeWords(i.cause) || "it did not finish"}` : "";
}

function messageView(i, app) {
  const body = markdownView();
  const end = h("p", { class: "ending cut" });
  const el = h("div", { class: "item message" }, body.el, end);
  return {
    el,
    update() {
      body.update(prose(content(i).text ?? ""));
      toggle(el, "open", i.status === "open");
      text(end, cut(i));
      show(end, end.textContent !== "");
      discarded(el, i, app);
    },
  };
}

/** A button that opens and closes what follows it. `make` builds that when it is first opened. */
function disclosure(head, make, open = false) {
  const body = h("div", { class: "body" });
  let made = false;
  const button = h("button", { type: "button", class: "disclosure", "aria-expanded": "false", on: { click: () => set(button.getAttribute("aria-expanded") !== "true") } },
    h("span", { class: "turner", "aria-hidden": "true" }), head);
  const set = (on) => {
    button.setAttribute("aria-expanded", String(on));
    if (on && !made) { made = true; make(body); }
    show(body, on);
  };
  set(open);
  return { button, body, isOpen: () => button.getAttribute("aria-expanded") === "true" };
}

function reasoningView(i, app) {
  const view = markdownView();
  const head = h("span", { class: "label-line" }), peek = h("span", { class: "peek-line" });
  const d = disclosure([head, peek], (body) => { body.append(view.el); });
  const end = h("p", { class: "ending cut" });
  const el = h("div", { class: "item reasoning" }, d.button, d.body, end);
  d.button.addEventListener("click", () => update());
  const update = () => {
    const said = prose(content(i).text ?? "");
    const open = i.status === "open";
    text(head, open ? "Thinking" : `Thought for ${duration(i.endedAt - i.begunAt)}`);
    text(peek, d.isOpen() ? "" : said.slice(0, 300).replace(/[*_`#]/g, ""));
    if (d.isOpen()) view.update(said);
    toggle(el, "open", open);
    toggle(el, "empty", !said && !open);
    text(end, cut(i));
    show(end, end.textContent !== "");
    discarded(el, i, app);
  };
  return { el, update };
}

function noteView(i, app) {
  const body = h("p", { class: "note-text" });
  const el = h("div", { class: "item note" }, h("span", { class: "label-line" }, "Note to the model"), body);
  return {
    el,
    update() {
      text(body, named(content(i).text ?? ""));
      discarded(el, i, app);
    },
  };
}

const PEEK_LINES = 4;
const MOST_OUTPUT = 200_000;
/** How much of an output is looked at for its last lines. */
const PEEKED = 20_000;

function callView(i, app) {
  const name = h("span", { class: "tool" }), title = h("span", { class: "title" });
  const time = h("span", { class: "time" }), status = h("span", { class: "status" });
  const whole = h("div", { class: "whole" });
  const d = disclosure([name, title, time, status], (body) => { body.append(whole); });
  const cancel = h("button", { type: "button", class: "quiet cancel", on: { click: () => app.cancelCall(i.id) } }, "Cancel");
  const peek = h("pre", { class: "peek", "aria-hidden": "true" });
  const edits = h("div", { class: "edits" });
  const ending = h("p", { class: "ending" });
  const asked = h("p", { class: "asked" });
  const left = h("p", { class: "left" });
  const el = h("div", { class: "item call" }, h("div", { class: "call-head" }, d.button, cancel), d.body, peek, edits, asked, left, ending);
  d.button.addEventListener("click", () => update());
  let drawnDetail = null, drawnWhole = "";

  const update = () => {
    const c = content(i), state = callState(i, app);
    el.dataset.state = state;
    text(name, named(c.name ?? "call"));
    text(title, named(i.title || argumentLine(c)));
    text(time, i.started && i.cause?.reason !== "crashed" ? duration((i.status === "open" ? app.now() : i.endedAt) - i.startedAt) : "");
    text(status, statusWords(i, state, c, app));
    show(cancel, i.status === "open" && i.ready);
    cancel.disabled = !!i.cancel;
    text(cancel, i.cancel ? "Cancelling" : "Cancel");
    const out = terminal(tail(c.output ?? "", PEEKED));
    const drawn = drawEdits(c);
    // What a command says is news; what was read well is not.
    const refused = denied(app.approvalsOf(i), i); // its output is addressed to the model
    const news = c.name === "shell" || i.status !== "completed";
    text(peek, d.isOpen() || drawn || !news || refused ? "" : lastLines(out, (c.output ?? "").length > PEEKED));
    show(peek, peek.textContent !== "");
    if (d.isOpen()) drawWhole(c);
    text(asked, app.approvalsOf(i).filter((a) => a.ended).map((a) => a.form ? sentence(approvalWords(a)) : `Asked, ${approvalWords(a)}`).join(". "));
    show(asked, asked.textContent !== "");
    drawLeft(c);
    text(ending, endingWords(i));
    show(ending, ending.textContent !== "");
    discarded(el, i, app);
  };

  /** The diffs of a call that changed files stand in the open. */
  function drawEdits(c) {
    if (c.name === "plan" && i.status === "completed") return drawPlan(c);
    if (c.name === "ask_user" && i.status === "completed" && replies(c).length) return drawReplies(c);
    const list = changes(c.detail).filter((f) => f.diff);
    if (c.detail !== drawnDetail) {
      drawnDetail = c.detail;
      edits.replaceChildren(...list.map((f) => fileChange(f)));
    }
    show(edits, list.length > 0);
    return list.length > 0;
  }

  /** So does a plan. */
  function drawPlan(c) {
    if (drawnDetail !== c.arguments) {
      drawnDetail = c.arguments;
      edits.replaceChildren(planList(planSteps(c.arguments)));
    }
    show(edits, true);
    return true;
  }

  /** And the answers to the model's questions. */
  function drawReplies(c) {
    if (drawnDetail !== c.detail) {
      drawnDetail = c.detail;
      edits.replaceChildren(h("ul", { class: "replies" }, replies(c).map((line) => h("li", null, named(line)))));
    }
    show(edits, true);
    return true;
  }

  function drawWhole(c) {
    const key = `${i.status} ${i.ready} ${c.arguments?.length} ${c.effective_arguments?.length} ${c.output?.length}`;
    if (key === drawnWhole) return;
    drawnWhole = key;
    const atEnd = whole.lastElementChild && whole.lastElementChild.scrollTop + whole.lastElementChild.clientHeight > whole.lastElementChild.scrollHeight - 8;
    whole.replaceChildren(...argumentNodes(c), ...changedNodes(c, app.approvalsOf(i)), ...outputNodes(c));
    if (atEnd && i.status === "open") whole.lastElementChild.scrollTop = whole.lastElementChild.scrollHeight;
  }

  function drawLeft(c) {
    const nodes = [];
    for (const j of app.jobsOf(i)) nodes.push(h("span", null, `Job ${j.job} is still running: ${named(j.command)}`));
    for (const p of c.survivors ?? []) nodes.push(h("span", null, `Could not end pid ${p.pid}${p.why ? `: ${named(p.why)}` : ""}`));
    for (const child of app.childrenOf(i)) {
      nodes.push(h("a", { href: `#/s/${encodeURIComponent(child.session)}` }, `Child agent: ${named(child.title || child.session)}`),
        h("span", null, child.ended ? ` ${child.ended.outcome}` : " runs"));
    }
    show(left, nodes.length > 0);
    if (nodes.length || left.firstChild) left.replaceChildren(...nodes);
  }

  return { el, update };
}

/** One word for what a call does or how it ended. */
function callState(i, app) {
  if (i.status !== "open") return i.status;
  if (i.started) return app.approvalsOf(i).some((a) => a.form && !a.ended) ? "asks" : "running";
  if (!i.ready) return "arguments";
  return app.approvalsOf(i).some((a) => !a.ended) ? "asks" : "waiting";
}

function statusWords(i, state, c, app) {
  if (denied(app.approvalsOf(i), i)) return answers.denied[1];
  if (state === "failed" && c.exit_code) return `exit code ${c.exit_code}`;
  return { running: "running", waiting: "waiting", asks: "asks", arguments: "writing arguments", completed: "", failed: "failed", aborted: "interrupted" }[state] ?? state;
}

function endingWords(i) {
  if (i.status === "failed") return i.cause ? `Failed: ${causeWords(i.cause)}` : "";
  if (i.status !== "aborted") return "";
  return `${sentence(causeWords(i.cause))}; ${effectsWords(i.effects)}`;
}

/** The arguments in one line, for a call without a title. */
function argumentLine(c) {
  const args = c.effective_arguments ?? c.arguments ?? "";
  const parsed = read(args);
  const first = parsed && (parsed.command ?? parsed.path ?? parsed.file ?? parsed.pattern ?? parsed.query ?? parsed.url);
  return (typeof first === "string" ? first : args).slice(0, 300).replace(/\s+/g, " ");
}

function read(args) {
  try {
    const value = JSON.parse(args);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function argumentNodes(c) {
  const args = c.effective_arguments ?? c.arguments ?? "";
  const parsed = read(args);
  if (!parsed) return args ? [codeBlock(args, "arguments")] : [];
  if (Object.keys(parsed).length === 0) return [];
  const rows = Object.entries(parsed).map(([name, value]) => {
    const said = typeof value === "string" ? value : JSON.stringify(value, null, 1);
    return [h("dt", null, named(name)), h("dd", null, named(said.length > 20_000 ? `${said.slice(0, 20_000)}\u2026` : said))];
  });
  return [h("dl", { class: "arguments" }, rows)];
}

/** What the model wrote, if a person or a hook changed the call. */
function changedNodes(c, approvals) {
  if (!c.effective_arguments) return [];
  const person = approvals.some((a) => a.ended?.arguments === c.effective_arguments);
  return [h("p", { class: "faint" }, `${person ? "A person" : "A hook"} changed this call. The model wrote:`), ...argumentNodes({ arguments: c.arguments })];
}

/** The answers to the model's questions, a line each, as in ask/reply.go; none if they are not understood. */
function replies(c) {
  const { ending, answers: given } = c.detail ?? {}, questions = read(c.arguments ?? "")?.questions;
  if (!Array.isArray(questions) || ending !== "answered" || !Array.isArray(given)) return [];
  return questions.map((q, n) => {
    const name = String(q?.header || (questions.length > 1 ? q?.question : "") || "");
    const answer = Array.isArray(given[n]) && given[n].length ? given[n].join(", ") : "no answer";
    return `${name} \u2192 ${answer}`.trim();
  });
}

function outputNodes(c) {
  const nodes = [], output = c.output ?? "";
  if (output) {
    if (output.length > MOST_OUTPUT) nodes.push(h("p", { class: "faint" }, `The last ${bytes(MOST_OUTPUT)} of ${bytes(output.length)}:`));
    if (c.output_file) nodes.push(h("p", { class: "faint" }, `The whole output${c.output_bytes ? `, ${bytes(c.output_bytes)},` : ""} is in ${named(c.output_file)}`));
    nodes.push(h("pre", { class: "output", tabindex: "0", "aria-label": "Output" }, terminalSpans(tail(output, MOST_OUTPUT)).map((s) => s.style ? h("span", { class: s.style }, s.text) : s.text)));
  } else nodes.push(h("p", { class: "faint" }, "No output."));
  return nodes;
}

function tail(s, most) {
  return s.length > most ? s.slice(-most) : s;
}

/** The last lines of a text, after a line that says how many are above; of a text that is cut, that is not known. */
function lastLines(s, cut) {
  const lines = s.trimEnd().split("\n"), above = lines.length - PEEK_LINES;
  const said = cut ? ["\u2026 the lines above are folded"] : above > 0 ? [`\u2026 ${count(above, "line")} above`] : [];
  return [...said, ...lines.slice(-PEEK_LINES).map((l) => l.length > 400 ? `${l.slice(0, 400)}\u2026` : l)].join("\n");
}

const OPEN_DIFF = 24;

/** One file's change: its name, its counts and its diff, closed if that is long. */
export function fileChange(f, open = false) {
  const kind = { create: "new file", delete: "deleted", move: "moved" }[f.kind] ?? "";
  const head = [
    h("span", { class: "path" }, f.from && f.from !== f.path ? `${named(f.from)} \u2192 ${named(f.path)}` : named(f.path)),
    kind && h("span", { class: "faint" }, kind),
    f.kind === "update" && !f.diff && !f.cut ? h("span", { class: "faint" }, "no change")
      : h("span", { class: "counts" }, h("span", { class: "plus" }, `+${f.added}`), " ", h("span", { class: "minus" }, `\u2212${f.removed}`)),
  ];
  if (!f.diff) return h("div", { class: "file" }, h("div", { class: "file-head" }, head));
  const long = f.diff.split("\n").length > OPEN_DIFF;
  const d = disclosure(head, (body) => {
    body.append(diffBlock(f.diff));
    if (f.cut) body.append(h("p", { class: "faint" }, "The diff is truncated."));
  }, open || !long);
  return h("div", { class: "file" }, d.button, d.body);
}

