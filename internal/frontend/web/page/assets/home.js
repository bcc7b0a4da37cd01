// What is there before the first message: what a turn would work with, recent
// sessions by directory, and examples.

import { arrange, h, show, text } from "./dom.js";
import { folded, sessionsView } from "./sessions.js";
import { modes } from "./terms.js";
import { named } from "./visible.js";

const EXAMPLES = [
  ["Explain this project", "Explain this project: what it does, how it is built, and which file to read first."],
  ["Fix a failing test", "Run the tests. Find out why the first failing one fails, fix the cause, and run the tests again."],
  ["Review my changes", "Review the uncommitted changes of this repository: errors first, then what is missing, then style."],
];
const MOST_DIRS = 4, MOST_SESSIONS = 6;

/** {el, update(sessions, info)}; info has dir, model, permission, its words, and whether a message can be written. */
export function homeView(app) {
  const facts = h("dl", { class: "facts" });
  const examples = h("div", { class: "examples", role: "group", "aria-label": "Examples" }, EXAMPLES.map(([label, prompt]) =>
    h("button", { type: "button", on: { click: () => app.write(prompt) } }, h("strong", null, label), h("span", { class: "faint" }, prompt))));
  const recent = h("div", { class: "recent" });
  const el = h("div", { class: "home" }, h("h2", null, "Ask settle to do something"), facts, examples, recent);
  const dirs = new Map();

  const group = (dir) => {
    const list = h("ul", { class: "sessions" });
    return { el: h("section", null, h("h3", { class: "path" }, named(dir)), list), view: sessionsView(list, app, false) };
  };

  return {
    el,
    update(sessions, info) {
      const rows = [["Directory", info.dir, "path"], ["Model", info.model, "", true], ["Permission", info.words || (modes[info.permission] ?? info.permission), "", true]].filter(([, v]) => v);
      const said = [info.writes, ...rows.flat()].join("\n");
      if (facts.dataset.said !== said) {
        facts.dataset.said = said;
        facts.replaceChildren(...rows.flatMap(([name, value, cls, chosen]) => [h("dt", null, name), h("dd", { class: cls },
          chosen && info.writes ? h("button", { type: "button", class: "fact", title: `Choose another ${name.toLowerCase()} (Alt S)`, on: { click: () => app.chooseSettings() } }, named(value)) : named(value))]));
      }
      const byDir = new Map();
      for (const s of sessions.filter((one) => one.id !== info.id)) {
        const dir = s.dir || "Other sessions";
        byDir.set(dir, [...byDir.get(dir) ?? [], s]);
      }
      const shown = [...byDir.keys()].sort((a, b) => (b === info.dir) - (a === info.dir)).slice(0, MOST_DIRS);
      for (const dir of shown) {
        if (!dirs.has(dir)) dirs.set(dir, group(dir));
        dirs.get(dir).view.update(folded(byDir.get(dir)).slice(0, MOST_SESSIONS));
      }
      arrange(recent, shown.map((dir) => dirs.get(dir).el));
      show(recent, shown.length > 0);
      show(examples, info.writes);
      text(el.firstElementChild, info.writes ? "Ask settle to do something" : "Choose a session");
    },
  };
}
