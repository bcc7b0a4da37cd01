// What waits for a person's word, above the box, so that it is seen whatever
// the transcript shows. It takes no focus by itself: a key that was meant for
// something else must not approve anything.

import { arrange, h, show, text } from "./dom.js";
import { changes } from "./diff.js";
import { openApprovals, running } from "./fold.js";
import { formCard } from "./form.js";
import { unshown } from "./guard.js";
import { fileChange } from "./item.js";
import { answers, plans } from "./terms.js";
import { named } from "./visible.js";
import { reasonWords, scopeWords, sentence } from "./words.js";

/** What an answer is called. A child in the background has no turn that could stop. */
const label = (verdict, a) => verdict === "aborted" && a?.background ? "Stop the agent" : sentence(answers[verdict][0]);

export function approvalsView(el, app) {
  let cards = new Map();
  return {
    update() {
      const old = cards;
      cards = new Map();
      // The log of a host that was killed still has the question; the held call takes its place.
      const held = app.held(), open = openApprovals(app.state).filter((a) => !held.some((one) => one.call === a.call));
      for (const a of [...open, ...held]) {
        const where = app.asksElsewhere(a), was = old.get(a.approval);
        cards.set(a.approval, was && (was.dataset.where ?? "") === where ? was : safeCard(a, app, where));
      }
      const left = [...old.values()].find((c) => !cards.has(c.dataset.approval) && c.contains(document.activeElement));
      arrange(el, [...cards.values()]);
      show(el, cards.size > 0);
      // Who has answered goes on with the next card, though not on its button. A
      // key that was meant for a card that somebody else answered is for none.
      if (left) ((left.dataset.answered && el.querySelector(".approval")) || document.getElementById("box")).focus();
    },
    focus() {
      const first = el.querySelector(".approval");
      first?.focus();
      return !!first;
    },
  };
}

/** Longer diffs are not drawn whole. */
const MOST_DRAWN = 40_000;

function safeCard(a, app, where) {
  try {
    return where ? elsewhereCard(a, app, where) : card(a, app);
  } catch (err) {
    return unshownCard(a, app, err);
  }
}

/** A question that cannot be shown can only be refused: nobody approves what they do not see. */
function unshownCard(a, app, err) {
  const said = h("p", { class: "card-note", role: "status" });
  const give = async (verdict) => { text(said, await app.answer(a, verdict) ?? ""); };
  return h("section", { class: "approval", tabindex: "-1", "aria-label": "Approval", data: { approval: a.approval } },
    unshown("question", a, err),
    h("div", { class: "answers" },
      h("button", { type: "button", on: { click: () => give("denied") } }, label("denied")),
      a.held ? null : h("button", { type: "button", on: { click: () => give("aborted") } }, label("aborted", a))), said);
}

/** A question that another process asks: only that process takes the answer. */
function elsewhereCard(a, app, where) {
  const name = named(a.form?.server || a.tool || "a tool");
  return h("section", { class: "approval", tabindex: "-1", "aria-label": `Approval: ${name}`, data: { approval: a.approval, where } },
    a.form ? [h("h3", null, h("span", { class: "tool" }, name), " asks for input"), a.form.message ? h("pre", { class: "command" }, named(a.form.message)) : null] : questionNodes(a),
    h("p", { class: "elsewhere" }, where, app.attachCommand() ? [" Answer it there, with: ", h("code", null, app.attachCommand())] : null));
}

/** What a person can say to the question of a call that was held: it runs as it is, or not. */
const HELD_ANSWER = "Allow it and run it now";

/** When a held call was asked about, and where it runs. */
function heldWords(a) {
  const at = new Date(a.asked).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return `It waited when settle stopped: ${at}, in ${named(a.dir ?? "")}. It stays until it is answered.`;
}

/** Whether a plan waits to be accepted. */
const isPlan = (a) => a.tool === "propose_plan";

/** The argument of a call that a person can change. */
const editable = (a) => isPlan(a) ? "plan" : "command";

/** The arguments of a command or a plan that waits, if a person can change it. */
function argumentsOf(a, app) {
  const turn = running(app.state), i = turn?.itemById.get(a.call);
  if (a.child || a.form || !i) return null;
  try {
    const args = JSON.parse(i.content.arguments);
    const text = args?.[editable(a)];
    return typeof text === "string" && text.trim() ? args : null;
  } catch {
    return null;
  }
}

/** The question about a call: the whole call, and why settle asks. */
function questionNodes(a) {
  const name = named(a.tool ?? "a tool"), list = changes(a.detail);
  // The whole call in words, unless its changes say the same, and hide nothing.
  const drawn = list.length && list.every((f) => f.diff && !f.cut && f.diff.length < MOST_DRAWN) && !a.text?.includes("\u27e8");
  const detail = drawn || !a.text ? list.map((f) => fileChange(f, true)) : [];
  // The changes name their files; the text also says where links lead.
  const whole = drawn ? (a.text ?? "").split("\n").filter((line) => line.startsWith("  leads to: ")).join("\n") : a.text ?? named(a.title ?? name);
  return [
    isPlan(a) ? h("h3", null, "Accept this plan?") : h("h3", null, h("span", { class: "tool" }, name), " asks for approval"),
    whole ? h("pre", { class: "command" }, whole.split("\n").map((line) => h("span", { class: "line" }, `${line}\n`))) : null,
    a.held ? h("p", { class: "why" }, heldWords(a)) : null,
    reasonWords(a) ? h("p", { class: "why" }, `Asked because ${named(reasonWords(a))}`) : null,
    a.review ? h("p", { class: "why" }, named(a.review)) : null,
    detail.length ? h("div", { class: "details" }, detail) : null,
  ];
}

function card(a, app) {
  if (a.form) return formCard(a, (verdict, content) => app.answer(a, verdict, { content }));
  const name = named(a.tool ?? "a tool");
  const said = h("p", { class: "card-note", role: "status", hidden: true });
  const words = h("input", { type: "text", placeholder: "Message to the model (optional)", "aria-label": "Message to the model", autocomplete: "off" });
  const denial = h("form", { class: "denial", hidden: true, on: { submit: (e) => { e.preventDefault(); give("denied", { message: words.value.trim() || undefined }); } } },
    words, h("button", { type: "submit" }, isPlan(a) ? "Change it, or reject it without words" : label("denied")), h("button", { type: "button", class: "quiet", on: { click: () => back(denial) } }, "Back"));
  // A person can change the command of a call, and the log says so.
  const args = argumentsOf(a, app), command = h("textarea", { rows: 3, "aria-label": isPlan(a) ? "Plan" : "Command", autocomplete: "off", spellcheck: "false" });
  command.value = args?.[editable(a)] ?? "";
  const change = h("form", { class: "denial", hidden: true, on: { submit: (e) => { e.preventDefault(); giveChanged(); } } },
    command, h("button", { type: "submit", class: "primary" }, isPlan(a) ? "Accept it" : "Run it"), h("button", { type: "button", class: "quiet", on: { click: () => back(change) } }, "Back"));
  const button = (label, key, f, className) => h("button", { type: "button", class: className, "aria-keyshortcuts": key, on: { click: f } }, label);
  const verdicts = isPlan(a) ? [
    ...Object.entries(plans).map(([permission, words], n) => button(sentence(words), ["a", "s", "p"][n], () => give("approved", { permission }), n ? "" : "primary")),
    args ? button("Edit the plan\u2026", "c", () => open(change, command)) : null,
    button("Change or reject\u2026", "d", () => open(denial, words)),
  ] : a.held ? [
    button(HELD_ANSWER, "a", () => give("approved"), "primary"),
    button(`${label("denied")}\u2026`, "d", () => open(denial, words)),
  ] : [
    button(label("approved"), "a", () => give("approved"), "primary"),
    a.once ? null : button(label("approved_session"), "s", () => give("approved_session")),
    args ? button("Edit the command\u2026", "c", () => open(change, command)) : null,
    button(`${label("denied")}\u2026`, "d", () => open(denial, words)),
    button(label("explain"), "e", () => give("denied", { explain: true })),
  ];
  const buttons = h("div", { class: "answers" }, verdicts,
    a.held ? null : button(label("aborted", a), "x", () => give("aborted")));
  const el = h("section", { class: "approval", tabindex: "-1", "aria-label": `Approval: ${name}`, data: { approval: a.approval } },
    questionNodes(a),
    a.covers ? h("p", { class: "why" }, a.once ? `An approval covers ${named(scopeWords(a))}.`
      : `\u201c${label("approved_session")}\u201d also allows ${named(scopeWords(a))}.`) : null,
    buttons, change, denial, said);

  el.addEventListener("keydown", (e) => {
    const typing = e.target === words || e.target === command;
    if (e.repeat && !typing) { // held down since an earlier card, perhaps
      e.preventDefault();
      return;
    }
    if (typing) {
      const form = e.target === words ? denial : change;
      if (e.key === "Escape") { e.stopPropagation(); back(form); }
      if (e.key === "Enter" && !e.shiftKey && !e.isComposing && form === change) { e.preventDefault(); giveChanged(); }
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const key = { y: "a", n: "d", i: "d" }[e.key.toLowerCase()] ?? e.key.toLowerCase(); // y, s, n, i and e as in the terminal
    const chosen = [...buttons.children].find((b) => b.getAttribute("aria-keyshortcuts") === key);
    if (!chosen || buttons.hidden) return;
    e.preventDefault();
    chosen.click();
  });

  function open(form, field) {
    show(buttons, false);
    show(form, true);
    field.focus();
  }

  function back(form) {
    show(form, false);
    show(buttons, true);
    buttons.querySelector(`[aria-keyshortcuts="${form === change ? "c" : "d"}"]`).focus();
  }

  function giveChanged() {
    const now = command.value.trim();
    if (now) give("approved", now === args[editable(a)].trim() ? {} : { arguments: JSON.stringify({ ...args, [editable(a)]: now }) });
  }

  async function give(verdict, more) {
    // A button that is disabled loses the focus to nothing.
    if (el.contains(document.activeElement)) el.focus();
    for (const b of el.querySelectorAll("button")) b.disabled = true;
    show(said, true);
    text(said, "Answering");
    el.dataset.answered = verdict;
    const refused = await app.answer(a, verdict, more);
    if (refused) delete el.dataset.answered;
    text(said, refused ?? "");
    show(said, !!refused);
    for (const b of el.querySelectorAll("button")) b.disabled = false;
  }
  return el;
}
