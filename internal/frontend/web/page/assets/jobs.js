// The session's jobs: what outlives its call, and a way to end it.

import { arrange, h, show, text } from "./dom.js";
import { count, jobWords } from "./words.js";
import { named } from "./visible.js";

/** A button that says how many run, and the list that it opens. */
export function jobsView(button, panel, app) {
  const rows = new Map();
  const list = h("ul", null);
  panel.replaceChildren(h("h2", null, "Jobs"), list);
  button.addEventListener("click", () => set(panel.hidden));
  const set = (on) => {
    show(panel, on);
    button.setAttribute("aria-expanded", String(on));
  };
  const row = (j) => {
    const how = h("span", { class: "faint" });
    const kill = h("button", { type: "button", class: "kill", "aria-label": `Kill job ${j.job}`, on: { click: () => { kill.disabled = true; app.killJob(j.job).finally(() => { kill.disabled = false; }); } } }, "Kill");
    return { el: h("li", null, h("div", null, h("code", null, named(j.command ?? "")), how), kill), how, kill };
  };
  return {
    update() {
      const all = app.state.jobs, runs = all.filter((j) => !j.ended).length;
      show(button, all.length > 0);
      text(button, runs ? count(runs, "job") : "Jobs");
      button.classList.toggle("lit", runs > 0);
      if (!all.length) set(false);
      for (const j of all) {
        if (!rows.has(j.job)) rows.set(j.job, row(j));
        const r = rows.get(j.job);
        text(r.how, `${j.job} \u00b7 pid ${j.pid} \u00b7 ${named(jobWords(j))}`);
        show(r.kill, !j.ended);
      }
      const known = new Set(all.map((j) => j.job));
      for (const id of rows.keys()) if (!known.has(id)) rows.delete(id);
      arrange(list, all.toReversed().map((j) => rows.get(j.job).el));
    },
    /** Closes the list, and says whether it was open. */
    close() {
      const was = !panel.hidden;
      set(false);
      return was;
    },
  };
}
