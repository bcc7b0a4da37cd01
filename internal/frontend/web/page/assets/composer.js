// What a person sends: the box, the ways in which an input may meet a running
// turn, pictures, what waits, and what has not reached the server yet. Nothing
// that was written is lost: drafts and unsent inputs survive a reload.

import * as api from "./api.js";
import { completionView } from "./complete.js";
import { running } from "./fold.js";
import { arrange, h, show, text, toggle } from "./dom.js";
import { named, prose } from "./visible.js";

const MODES = [
  ["queue", "Queue", "Runs after this turn"],
  ["steer", "Steer", "Joins this turn with the next model request"],
  ["replace", "Replace", "Ends this turn, then runs"],
];
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF = "application/pdf";
const MOST_IMAGE = 5e6, MOST_PDF = 20e6;
const takes = (f) => f.type === PDF || TYPES.includes(f.type);

/** Images and PDFs as the API takes them. */
function attachments(list) {
  const images = list.filter((a) => a.media_type !== PDF).map(({ media_type, data, name }) => ({ media_type, data, name }));
  const documents = list.filter((a) => a.media_type === PDF).map(({ data, name }) => ({ data, name }));
  return { ...(images.length ? { images } : {}), ...(documents.length ? { documents } : {}) };
}

export function composerView(form, app) {
  const waiting = h("ul", { class: "waiting", "aria-label": "Waiting inputs", hidden: true });
  const box = h("textarea", { id: "box", rows: "1", placeholder: "Ask settle to do something", "aria-label": "Message", autocomplete: "off", enterkeyhint: "send", dir: "auto" });
  const radios = MODES.map(([value, label, title]) => h("label", { title }, h("input", { type: "radio", name: "mode", value, checked: value === "queue" }), h("span", null, label)));
  const modes = h("div", { class: "modes", role: "radiogroup", "aria-label": "While a turn runs", hidden: true }, radios);
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const stop = h("button", { type: "button", class: "stop", hidden: true, on: { click: () => app.interrupt() } }, "Interrupt");
  const file = h("input", { type: "file", hidden: true, on: { change: () => { attach([...file.files]); file.value = ""; } } });
  file.accept = [...TYPES, PDF].join(",");
  file.multiple = true;
  const picture = h("button", { type: "button", class: "quiet picture-button", on: { click: () => file.click() } }, "Attach");
  const hint = h("span", { class: "hint faint" });
  const pictures = h("div", { class: "pictures", hidden: true });
  const paths = completionView(box, () => { grow(); app.saveDraft(box.value); });
  form.replaceChildren(waiting, paths.el, h("div", { class: "entry" }, box, pictures, h("div", { class: "controls" }, picture, file, modes, hint, stop, send)));
  let images = [], shelf = new Map(); // the elements of what waits, by id

  form.addEventListener("submit", (e) => { e.preventDefault(); submit(); });
  box.addEventListener("input", () => { grow(); app.saveDraft(box.value); paths.update(); });
  box.addEventListener("blur", () => paths.close());
  box.addEventListener("click", () => paths.update());
  box.addEventListener("keydown", (e) => {
    if (paths.key(e)) { e.preventDefault(); return; }
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.keyCode !== 229) {
      e.preventDefault();
      submit();
    }
  });
  box.addEventListener("paste", (e) => {
    const files = [...e.clipboardData.files].filter(takes);
    if (files.length) { e.preventDefault(); attach(files); }
  });
  form.addEventListener("dragover", (e) => e.preventDefault());
  form.addEventListener("drop", (e) => { e.preventDefault(); attach([...e.dataTransfer.files].filter(takes)); });

  function grow() {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  async function attach(files) {
    for (const f of files) {
      if (!takes(f)) { app.notice(`${f.name} was not attached: it must be a PDF, or a PNG, JPEG, GIF or WebP image.`); continue; }
      const most = f.type === PDF ? MOST_PDF : MOST_IMAGE;
      if (f.size > most) { app.notice(`${f.name} was not attached: it is larger than ${most / 1e6} MB.`); continue; }
      const data = await new Promise((done, fail) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
        reader.onerror = () => fail(reader.error);
        reader.readAsDataURL(f);
      }).catch(() => "");
      if (data) images.push({ media_type: f.type, data, name: f.name });
    }
    drawPictures();
  }

  function drawPictures() {
    pictures.replaceChildren(...images.map((image, n) => {
      const img = image.media_type === PDF ? h("span", { class: "faint" }, `PDF ${image.name ?? ""}`) : h("img", { alt: image.name ?? "" });
      if (image.media_type !== PDF) img.src = `data:${image.media_type};base64,${image.data}`;
      return h("span", { class: "picture-chip" }, img, h("button", {
        type: "button", class: "quiet", "aria-label": `Remove ${image.name ?? "the image"}`,
        on: { click: () => { images.splice(n, 1); drawPictures(); box.focus(); } },
      }, "Remove"));
    }));
    show(pictures, images.length > 0);
  }

  function submit() {
    const said = box.value;
    if (app.refuses() || !said.trim() && !images.length) return;
    const mode = running(app.state) && !app.isAway() ? modes.querySelector("input:checked").value : "queue";
    app.submit({ text: said, mode, images });
    images = [];
    drawPictures();
    setText("");
    modes.querySelector("input").checked = true;
  }

  function setText(value) {
    box.value = value;
    app.saveDraft(value);
    paths.close();
    grow();
  }

  /** Takes an input that waits into the box, once the server let go of it. */
  async function edit(input) {
    if (!await app.dropInput(input)) return;
    images = [...images, ...(input.images ?? [])];
    drawPictures();
    setText(box.value.trim() ? `${input.text}\n${box.value}` : input.text);
    box.focus();
    box.setSelectionRange(input.text.length, input.text.length);
  }

  function shelfItem(input) {
    const what = h("span", { class: "what" }), said = h("span", { class: "said", dir: "auto" }, prose(input.text).slice(0, 400) || "A picture");
    const el = h("li", null, what, said,
      h("button", { type: "button", class: "quiet", "aria-label": `Edit: ${input.text.slice(0, 60)}`, on: { click: () => edit(el.input) } }, "Edit"),
      h("button", { type: "button", class: "quiet", "aria-label": `Drop: ${input.text.slice(0, 60)}`, on: { click: () => app.dropInput(el.input) } }, "Drop"));
    return { el, what };
  }

  function drawWaiting() {
    const s = app.state, list = [];
    for (const i of s.waiting) list.push([i, i.held ? "Held" : { queue: "Queued", steer: "Steers", replace: "Replaces" }[i.mode] ?? i.mode, i.held ? "held" : ""]);
    for (const i of app.unsent()) list.push([i, i.sending ? "Sending" : "Not sent", "unsent"]);
    const old = shelf;
    shelf = new Map();
    for (const [i, words, kind] of list) {
      const shelved = old.get(i.id) ?? shelfItem(i);
      shelved.el.input = i;
      shelved.el.className = kind;
      text(shelved.what, words);
      shelf.set(i.id, shelved);
    }
    arrange(waiting, [...shelf.values()].map((v) => v.el));
    show(waiting, list.length > 0);
    const held = s.waiting.filter((i) => i.held).length;
    return held;
  }

  return {
    update() {
      const t = app.isAway() ? null : running(app.state); // nothing reaches a turn of another process
      const held = drawWaiting();
      show(modes, !!t);
      show(stop, !!t);
      toggle(stop, "asked", app.interrupting());
      text(stop, app.interrupting() ? "Hurry" : "Interrupt");
      stop.title = app.interrupting() ? "Skip the grace period" : "Esc";
      if (t) send.title = MODES.find(([mode]) => mode === modes.querySelector("input:checked").value)[2]; else send.removeAttribute("title");
      let words = "";
      send.disabled = !!app.refuses();
      if (app.refuses()) words = `Not available here: ${named(app.refuses())}.`;
      else if (app.takesOver()) words = "Sending takes the session over, which ends the turn that runs there";
      else if (app.isAway()) words = "Sending opens the session here";
      else if (held) words = held === 1 ? "1 held input goes with your next message" : `${held} held inputs go with your next message`;
      else if (!app.state.open && app.state.seq) words = "Sending reopens the session";
      text(hint, words);
      box.placeholder = t ? "Add a message while the turn runs" : "Ask settle to do something";
    },
    onMode(f) { modes.addEventListener("change", f); },
    focus() { box.focus(); },
    setDraft(value, pictures = []) { box.value = value; paths.close(); grow(); images = pictures; drawPictures(); },
  };
}

/** Inputs that have not been accepted yet, kept over reloads and sent in order. */
export function outbox(id, { changed, arrived, refused }) {
  const key = `settle.unsent.${id}`;
  let list = [], busy = false, stopped = false;
  try { list = JSON.parse(localStorage.getItem(key) ?? "[]"); } catch { list = []; }
  const save = () => {
    try {
      if (list.length) localStorage.setItem(key, JSON.stringify(list.map(({ sending, ...rest }) => rest)));
      else localStorage.removeItem(key);
    } catch { /* full, or not allowed: it is still in memory */ }
    changed();
  };
  const remove = (input) => { list = list.filter((i) => i.id !== input); save(); };

  async function flush() {
    if (busy || stopped || !list.length) return;
    busy = true;
    while (list.length && !stopped) {
      const i = list[0];
      i.sending = true;
      changed();
      try {
        await api.send(id, { input: i.id, text: i.text, mode: i.mode, ...attachments(i.images ?? []) });
        remove(i.id);
        arrived();
      } catch (e) {
        i.sending = false;
        // No answer, or not now: it is tried again. The id keeps it from running twice.
        const later = e.status === 0 || e.status === 401 || e.status === 408 || e.status === 429 || e.status >= 500;
        if (!later) { remove(i.id); refused(i, e); continue; }
        changed();
        break;
      }
    }
    busy = false;
  }

  return {
    add(input) {
      list.push({ id: `w-${crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`}`, ...input });
      save();
      flush();
    },
    flush,
    /** The server has it: the log says so. */
    accepted(input) { if (list.some((i) => i.id === input)) remove(input); },
    remove,
    list: () => list,
    has: (input) => list.some((i) => i.id === input),
    stop() { stopped = true; },
  };
}
