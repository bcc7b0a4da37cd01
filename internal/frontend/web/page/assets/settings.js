// The settings of a session, or of the next one: which model its turns ask, how much that
// is to think, and what runs without asking. Below them, the plugins, which only a command changes.

import * as api from "./api.js";
import { h, show, text } from "./dom.js";
import { modes } from "./terms.js";
import { named } from "./visible.js";

const OTHER = "\u0000other";

/**
 * A dialog that changes the settings: {open(session, chosen)}. `done` gets the session and what is
 * in force then. Without a session, `chosen` is what was chosen for the next one, and `done` gets
 * all that is.
 */
export function settingsView(dialog, done) {
  const title = h("h2", { id: "settings-title" });
  const words = h("p", { class: "faint" }), problem = h("p", { class: "problem", role: "alert", hidden: true });
  const model = h("select", { id: "setting-model" }), effort = h("select", { id: "setting-effort" });
  const other = h("input", { type: "text", "aria-label": "Name of the model", placeholder: "provider/model", autocomplete: "off", spellcheck: "false", hidden: true });
  const permissions = h("div", { class: "choices", role: "radiogroup", "aria-label": "What runs without asking" });
  const save = h("button", { type: "submit", class: "primary" }, "Change");
  const cancel = h("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const form = h("form", { on: { submit: (e) => { e.preventDefault(); change(); } } },
    title, words,
    h("label", { for: "setting-model" }, "Model"), model, other,
    h("label", { for: "setting-effort" }, "Effort"), effort,
    h("p", { class: "label" }, "Permission"), permissions, problem,
    h("div", { class: "answers" }, save, cancel));
  const plugins = h("section", { class: "plugins", "aria-label": "Plugins", hidden: true });
  dialog.replaceChildren(form, plugins);
  model.addEventListener("change", () => { show(other, model.value === OTHER); if (model.value === OTHER) other.focus(); });
  let id = "", now = null, first = null; // first is what the next session gets without a choice

  const option = (value, label) => {
    const el = h("option", null, label);
    el.value = value;
    return el;
  };

  function draw(all) {
    now = all;
    text(words, all.unusable ? named(all.unusable) : all.problem ? `The models are not known: ${named(all.problem)}` : id ? "They count from the next turn on; the permission from the next call on." : "They count for the session that your next message begins.");
    if (!all.models.some((m) => m.name === all.model)) all.models.unshift({ name: all.model });
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

  function drawPlugins(list) {
    plugins.replaceChildren(h("h3", null, "Plugins"), h("ul", null, list.map((p) => h("li", null,
      h("strong", null, named([p.name, p.version].filter(Boolean).join(" "))), p.state === "ok" ? null : h("span", { class: "faint" }, named(p.problem ? `${p.state}: ${p.problem}` : p.state)),
      h("span", null, named(p.has)), h("span", { class: "faint" }, `from ${named(p.from)}`)))));
    show(plugins, list.length > 0);
  }

  async function change() {
    const wants = { model: model.value === OTHER ? other.value.trim() : model.value, effort: effort.value, permission: permissions.querySelector("input:checked")?.value };
    const changed = (from) => Object.fromEntries(Object.entries(wants).filter(([name, value]) => value !== undefined && value !== from[name]));
    const body = changed(now);
    save.disabled = true;
    show(problem, false);
    try {
      if (!id) {
        done("", changed(first));
        dialog.close();
        return;
      }
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
    async open(session, chosen = {}) {
      id = session;
      text(title, id ? "Settings of this session" : "Settings of the next session");
      show(plugins, false);
      api.plugins().then(drawPlugins, () => { /* the list is an extra */ });
      text(words, "Asking which models there are\u2026");
      show(problem, false);
      show(other, false);
      model.replaceChildren();
      effort.replaceChildren();
      permissions.replaceChildren();
      for (const el of [model, other, effort, save]) el.disabled = true;
      dialog.showModal();
      try {
        first = session ? await api.settings(session) : await api.newSettings();
        if (id === session && dialog.open) draw({ ...first, ...chosen, models: [...first.models] });
      } catch (e) {
        if (id === session) text(words, e.message);
      }
    },
  };
}
