// The settings of a session: which model its turns ask, how much that is to think,
// and what runs without asking.

import * as api from "./api.js";
import { h, show, text } from "./dom.js";
import { modes } from "./terms.js";
import { named } from "./visible.js";

const OTHER = "\u0000other";

/** A dialog that changes the settings: {open(session), isOpen()}. `done` gets what is in force then. */
export function settingsView(dialog, done) {
  const words = h("p", { class: "faint" }), problem = h("p", { class: "problem", role: "alert", hidden: true });
  const model = h("select", { id: "setting-model" }), effort = h("select", { id: "setting-effort" });
  const other = h("input", { type: "text", "aria-label": "Name of the model", placeholder: "provider/model", autocomplete: "off", spellcheck: "false", hidden: true });
  const permissions = h("div", { class: "choices", role: "radiogroup", "aria-label": "What runs without asking" });
  const save = h("button", { type: "submit", class: "primary" }, "Change");
  const cancel = h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const form = h("form", { on: { submit: (e) => { e.preventDefault(); change(); } } },
    h("h2", { id: "settings-title" }, "Settings of this session"), words,
    h("label", { for: "setting-model" }, "Model"), model, other,
    h("label", { for: "setting-effort" }, "Effort"), effort,
    h("p", { class: "label" }, "Permission"), permissions, problem,
    h("div", { class: "answers" }, save, cancel));
  dialog.replaceChildren(form);
  model.addEventListener("change", () => { show(other, model.value === OTHER); if (model.value === OTHER) other.focus(); });
  let id = "", now = null;

  const option = (value, label) => {
    const el = h("option", null, label);
    el.value = value;
    return el;
  };

  function draw(all) {
    now = all;
    text(words, all.problem ? `The models are not known: ${named(all.problem)}` : "They count from the next turn on; the permission from the next call on.");
    model.replaceChildren(...all.models.map((m) => option(m.name, named(m.about ? `${m.name} \u00b7 ${m.about}` : m.name))), option(OTHER, "Another model\u2026"));
    model.value = all.model;
    other.value = "";
    show(other, false);
    const efforts = all.effort && !all.efforts.includes(all.effort) ? [all.effort, ...all.efforts] : all.efforts;
    effort.replaceChildren(option("", "As the model likes"), ...efforts.map((e) => option(e, e)));
    effort.value = all.effort;
    permissions.replaceChildren(...all.permissions.map((p) => h("label", null,
      h("input", { type: "radio", name: "permission", value: p.name, checked: p.name === all.permission }),
      h("span", null, modes[p.name] ?? p.name, h("span", { class: "faint" }, p.about)))));
    for (const el of [model, other, effort, save]) el.disabled = false;
  }

  async function change() {
    const wants = { model: model.value === OTHER ? other.value.trim() : model.value, effort: effort.value, permission: permissions.querySelector("input:checked")?.value };
    const body = Object.fromEntries(Object.entries(wants).filter(([name, value]) => value !== undefined && value !== now[name]));
    save.disabled = true;
    show(problem, false);
    try {
      done(id, Object.keys(body).length ? await api.changeSettings(id, body) : now);
      dialog.close();
    } catch (e) {
      text(problem, e.message);
      show(problem, true);
    } finally {
      save.disabled = false;
    }
  }

  return {
    async open(session) {
      id = session;
      text(words, "Asking which models there are\u2026");
      show(problem, false);
      show(other, false);
      model.replaceChildren();
      effort.replaceChildren();
      permissions.replaceChildren();
      for (const el of [model, other, effort, save]) el.disabled = true;
      dialog.showModal();
      try {
        const all = await api.settings(session);
        if (id === session && dialog.open) draw(all);
      } catch (e) {
        if (id === session) text(words, e.message);
      }
    },
  };
}
