// What an MCP server asks for while its call runs: fields to fill in, or a page to open.

import { h, show, text } from "./dom.js";
import { webAddress } from "./markdown.js";
import { answers } from "./terms.js";
import { named } from "./visible.js";
import { sentence } from "./words.js";

/** Draws the card of a form. give(verdict, content) returns why the answer did not count, or null. */
export function formCard(a, give) {
  const said = h("p", { class: "card-note", role: "status", hidden: true });
  const fields = a.form.url ? [] : fieldsOf(a.form.schema);
  const href = a.form.url ? webAddress(a.form.url) : "";
  const body = h("form", { class: "fields", on: { submit: (e) => { e.preventDefault(); send("approved"); } } },
    fields.map((f) => f.el),
    h("div", { class: "answers" },
      h("button", { type: "submit", class: "primary" }, a.form.url ? "I have opened it" : "Send"),
      h("button", { type: "button", on: { click: () => send("denied") } }, "Decline"),
      h("button", { type: "button", on: { click: () => send("aborted") } }, sentence(answers.aborted[0]))));
  const who = a.form.server ? named(a.form.server) : "The agent";
  const el = h("section", { class: "approval", tabindex: "-1", "aria-label": `Form: ${who}`, data: { approval: a.approval } },
    h("h3", null, h("span", { class: "tool" }, who), a.form.server ? " asks for input" : " asks you"),
    a.form.message ? h("pre", { class: "command" }, named(a.form.message)) : null,
    a.form.url ? h("p", null, href ? h("a", { href, target: "_blank", rel: "noopener noreferrer" }, named(a.form.url)) : named(a.form.url)) : null,
    body, said);

  async function send(verdict) {
    const content = {};
    if (verdict === "approved" && !a.form.url) for (const f of fields) if (f.value() !== undefined) content[f.name] = f.value();
    if (el.contains(document.activeElement)) el.focus();
    for (const b of el.querySelectorAll("button")) b.disabled = true;
    show(said, true);
    text(said, "Answering");
    el.dataset.answered = verdict;
    const refused = await give(verdict, verdict === "approved" ? content : undefined);
    if (refused) delete el.dataset.answered;
    text(said, refused ?? "");
    show(said, !!refused);
    for (const b of el.querySelectorAll("button")) b.disabled = false;
  }
  return el;
}

function fieldsOf(schema) {
  const required = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).map(([name, p]) => field(name, p, required.includes(name)));
}

function optionsOf(p) {
  const list = p.oneOf ?? p.anyOf;
  if (list) return list.map((o) => ({ value: String(o.const), label: o.title ?? String(o.const) }));
  return p.enum?.map((value, n) => ({ value: String(value), label: p.enumNames?.[n] ?? String(value) }));
}

/** A field: its element, and what is filled in; undefined for nothing. */
function field(name, p, required) {
  const label = named(p.title ?? name) + (required ? "" : " (optional)");
  const note = p.description ? h("span", { class: "why" }, named(p.description)) : null;
  const options = optionsOf(p.type === "array" ? p.items ?? {} : p);
  if (p.type === "array") {
    const boxes = (options ?? []).map((o) => [o.value, h("input", { type: "checkbox", checked: p.default?.includes(o.value) }), o.label]);
    return {
      name, el: h("fieldset", null, h("legend", null, label), note, boxes.map(([, box, text]) => h("label", null, box, named(text)))),
      value: () => boxes.filter(([, box]) => box.checked).map(([value]) => value),
    };
  }
  if (p.type === "boolean") {
    const box = h("input", { type: "checkbox", checked: p.default === true });
    return { name, el: h("label", null, box, label, note), value: () => box.checked };
  }
  const input = options
    ? h("select", null, required && p.default === undefined ? null : h("option", { value: "" }, ""), options.map((o) => h("option", { value: o.value }, named(o.label))))
    : h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  if (p.default !== undefined) input.value = String(p.default);
  const number = p.type === "number" || p.type === "integer";
  return {
    name, el: h("label", null, label, note, input),
    value() {
      const given = input.value.trim();
      if (given === "") return required && !number && !options ? "" : undefined;
      return number && Number.isFinite(Number(given)) ? Number(given) : given;
    },
  };
}
