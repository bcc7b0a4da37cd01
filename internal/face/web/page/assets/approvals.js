// What waits for a person's word, above the box, so that it is seen whatever
// the transcript shows. It takes no focus by itself: a key that was meant for
// something else must not approve anything.

import { arrange, h, show, text } from "./dom.js";
import { changes } from "./diff.js";
import { openApprovals } from "./fold.js";
import { fileChange } from "./item.js";
import { codeBlock } from "./markup.js";
import { named } from "./visible.js";

export function approvalsView(el, app) {
  let cards = new Map();
  return {
    update() {
      const old = cards;
      cards = new Map();
      for (const a of openApprovals(app.state)) cards.set(a.approval, old.get(a.approval) ?? card(a, app));
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

function card(a, app) {
  const name = named(a.tool ?? "a tool");
  const said = h("p", { class: "card-note", role: "status", hidden: true });
  const words = h("input", { type: "text", placeholder: "Words for the model (optional)", "aria-label": "Words for the model", autocomplete: "off" });
  const denial = h("form", { class: "denial", hidden: true, on: { submit: (e) => { e.preventDefault(); give("denied", words.value.trim()); } } },
    words, h("button", { type: "submit" }, "Deny"), h("button", { type: "button", class: "quiet", on: { click: () => closeDenial() } }, "Back"));
  const button = (label, key, f, className) => h("button", { type: "button", class: className, "aria-keyshortcuts": key, on: { click: f } }, label);
  const buttons = h("div", { class: "answers" },
    button("Approve", "a", () => give("approved"), "primary"),
    button("Approve for session", "s", () => give("approved_session")),
    button("Deny\u2026", "d", () => openDenial()),
    button("Abort turn", "x", () => give("aborted")));
  const list = changes(a.detail);
  const detail = list.length ? [...list.map((f) => fileChange(f, true)), ...failure(a.detail)] : deeds(a.detail) ?? detailNodes(a.detail);
  const command = commandText(a);
  const el = h("section", { class: "approval", tabindex: "-1", "aria-label": `Approval: ${name}`, data: { approval: a.approval } },
    h("h3", null, h("span", { class: "tool" }, name), " asks to run"),
    command ? h("pre", { class: "command" }, named(command)) : null,
    a.why ? h("p", { class: "why" }, named(a.why)) : null,
    detail.length ? h("div", { class: "details" }, detail) : null,
    buttons, denial, said);

  el.addEventListener("keydown", (e) => {
    if (e.repeat && e.target !== words) { // held down since an earlier card, perhaps
      e.preventDefault();
      return;
    }
    if (e.target === words) {
      if (e.key === "Escape") { e.stopPropagation(); closeDenial(); }
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const index = { a: 0, s: 1, d: 2, x: 3 }[e.key.toLowerCase()];
    if (index === undefined || buttons.hidden) return;
    e.preventDefault();
    buttons.children[index].click();
  });

  function openDenial() {
    show(buttons, false);
    show(denial, true);
    words.focus();
  }

  function closeDenial() {
    show(denial, false);
    show(buttons, true);
    buttons.children[2].focus();
  }

  async function give(verdict, message) {
    // A button that is disabled loses the focus to nothing.
    if (el.contains(document.activeElement)) el.focus();
    for (const b of el.querySelectorAll("button")) b.disabled = true;
    show(said, true);
    text(said, "Answering");
    el.dataset.answered = verdict;
    const refused = await app.answer(a, verdict, message);
    if (refused) delete el.dataset.answered;
    text(said, refused ?? "");
    show(said, !!refused);
    for (const b of el.querySelectorAll("button")) b.disabled = false;
  }
  return el;
}

/** What is asked about: a command as it was written, else the call's title. */
function commandText(a) {
  const said = a.detail?.command;
  if (typeof said !== "string" || !said) return a.title;
  return typeof a.detail.workdir === "string" && a.detail.workdir ? `${said}\nin ${a.detail.workdir}` : said;
}

/** The parts of a command, each with what the rules say of it; null for a detail of another shape. */
function deeds(detail) {
  if (!detail || typeof detail !== "object" || typeof detail.command !== "string") return null;
  const list = (Array.isArray(detail.commands) ? detail.commands : []).filter((c) => c && typeof c.text === "string");
  const cut = detail.cut ? [h("p", { class: "faint" }, "There is more than what is shown here.")] : [];
  // One command says no more than what stands above.
  if (list.length < 2 && !detail.cut) return [];
  const words = { ask: "asks", allow: "allowed", deny: "denied" };
  return [h("ul", { class: "deeds", "aria-label": "What it does, one by one" }, list.map((c) => h("li", { class: words[c.decision] ? c.decision : "ask" },
    h("span", { class: "decision" }, words[c.decision] ?? "asks"), h("code", null, named(c.text)), c.why ? h("span", { class: "faint" }, named(String(c.why))) : null))), ...cut];
}

/** Why a change could not be shown. */
function failure(detail) {
  return typeof detail?.error === "string" && detail.error ? [h("p", { class: "card-note" }, `The change cannot be shown: ${named(detail.error)}`)] : [];
}

/** A detail of another shape, as it is. */
function detailNodes(detail) {
  if (detail === undefined || detail === null) return [];
  const said = typeof detail === "string" ? detail : JSON.stringify(detail, null, 2);
  return said && said !== "{}" ? [codeBlock(said.slice(0, 50_000), "")] : [];
}
