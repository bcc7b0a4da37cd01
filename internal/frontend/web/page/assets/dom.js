// The only way in which the page makes elements. Data enters as text nodes and
// attribute values from a fixed list of names; there is no way in for markup.

const ATTRIBUTES = new Set([
  "class", "id", "for", "type", "name", "value", "placeholder", "title", "role", "tabindex", "lang", "dir", "rows", "hidden", "disabled",
  "checked", "start", "download", "rel", "target", "alt", "autocomplete", "spellcheck", "enterkeyhint", "datetime", "scope", "colspan",
]);

/**
 * h("button", {class: "x", on: {click: f}, data: {kind: "y"}}, "text", child, …)
 *
 * `href` is for addresses that the caller vouches for: our own paths, and what webAddress let through.
 */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  set(el, props ?? {});
  add(el, children);
  return el;
}

/** The same for SVG. Attributes are numbers and words of ours. */
export function svg(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props ?? {})) if (value !== undefined && value !== false) el.setAttribute(name, value);
  add(el, children);
  return el;
}

function set(el, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [kind, f] of Object.entries(value)) el.addEventListener(kind, f);
    else if (name === "data") Object.assign(el.dataset, value);
    else if (name === "href" && el.tagName === "A") el.href = value;
    else if (ATTRIBUTES.has(name) || name.startsWith("aria-")) el.setAttribute(name, value === true ? "" : value);
    else throw new Error(`no attribute "${name}" is set on <${tag(el)}>`);
  }
}

function tag(el) {
  return el.tagName.toLowerCase();
}

function add(el, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : String(child));
  }
}

/** Sets the text if it is another one, so that nothing is drawn anew for nothing. */
export function text(el, value) {
  if (el.firstChild?.nodeType === Node.TEXT_NODE && el.childNodes.length === 1) {
    if (el.firstChild.data !== value) el.firstChild.data = value;
  } else if (value !== "" || el.firstChild) el.replaceChildren(value);
  return el;
}

/** Sets or removes a class. */
export function toggle(el, name, on) {
  if (el.classList.contains(name) !== !!on) el.classList.toggle(name, !!on);
}

/** Shows or hides. */
export function show(el, on) {
  if (el.hidden === !!on) el.hidden = !on;
}

/** Makes the children of el those of the list, in order, and leaves alone what is there already. */
export function arrange(el, list) {
  list.forEach((child, n) => {
    if (el.children[n] !== child) el.insertBefore(child, el.children[n] ?? null);
  });
  while (el.children.length > list.length) el.lastElementChild.remove();
}
