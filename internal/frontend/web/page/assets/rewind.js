// Going back to before an input: what that would do to files is shown first.

import * as api from "./api.js";
import { h, show, text } from "./dom.js";
import { count } from "./words.js";
import { named } from "./visible.js";

const CHANGES = new Set(["restore", "recreate", "remove"]);
const UNCOVERED = { command: "$ ", child: "child agent: ", call: "cut, outcome unknown: " };
const MOST = 50;

/** A dialog: {open(session, turn)}. `done` gets the copy, the plan and what came of it. */
export function rewindView(dialog, done) {
  const note = h("p", { class: "faint", hidden: true });
  const words = h("p", { class: "faint" }), files = h("ul", { class: "effects" }), problem = h("p", { class: "problem", role: "alert", hidden: true });
  const others = h("ul", { class: "effects" }), head = h("p", { class: "faint", hidden: true }, "Not covered, with unknown changes to files:");
  const restore = h("button", { type: "button", class: "primary", on: { click: () => go(false) } });
  const leave = h("button", { type: "button", on: { click: () => go(true) } });
  dialog.replaceChildren(h("h2", { id: "rewind-title" }, "Go back to before this message?"), words, files, note, head, others, problem,
    h("div", { class: "answers" }, restore, leave, h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel")));
  let id = "", plan = null;

  const list = (el, rows) => el.replaceChildren(...rows.slice(0, MOST), ...(rows.length > MOST ? [h("li", { class: "faint" }, `${rows.length - MOST} more`)] : []));
  const enable = (on) => { restore.disabled = leave.disabled = !on; };

  function draw() {
    const n = plan.files.filter((f) => CHANGES.has(f.action)).length;
    text(words, `You go on in a copy; this session stays as it is. ${plan.files.length ? "Files that settle's tools and commands changed since:" : "Settle's tools and commands changed no files since."}`);
    list(files, plan.files.map((f) => h("li", { data: { action: f.action } }, h("span", { class: "action" }, f.action), h("code", null, named(f.kind === "directory" ? `${f.path}/` : f.path)), f.why && CHANGES.has(f.action) === false ? h("span", { class: "faint" }, named(f.why)) : null, f.by?.length ? h("span", { class: "faint" }, named(`by ${f.by.join(" or ")}`.slice(0, 120))) : null)));
    list(others, plan.uncovered.map((u) => h("li", null, h("code", null, named(`${u.kind === "call" && u.why ? "" : (UNCOVERED[u.kind] ?? "")}${u.text}`.slice(0, 300))), u.why ? h("span", { class: "faint" }, named(u.why)) : null)));
    text(note, plan.note ?? "");
    show(note, Boolean(plan.note));
    show(head, plan.uncovered.length > 0);
    show(restore, n > 0);
    text(restore, `Restore ${count(n, "file")}`);
    text(leave, n > 0 ? "Leave the files" : "Go back");
    leave.classList.toggle("primary", n === 0);
    enable(true);
  }

  async function go(keep) {
    enable(false);
    show(problem, false);
    try {
      const made = await api.rewind(id, { input: plan.turn, ...(keep ? { keep_files: true } : {}) });
      dialog.close();
      done(made, plan);
    } catch (e) {
      text(problem, e.message);
      show(problem, true);
      enable(true);
    }
  }

  return {
    async open(session, turn) {
      id = session;
      text(words, "Looking at the files\u2026");
      for (const el of [files, others]) el.replaceChildren();
      for (const el of [head, note, problem, restore]) show(el, false);
      text(leave, "Go back");
      enable(false);
      dialog.showModal();
      try {
        const found = await api.rewindPlan(session, turn);
        if (id !== session || !dialog.open) return;
        plan = found;
        draw();
      } catch (e) {
        text(words, e.message);
      }
    },
  };
}
