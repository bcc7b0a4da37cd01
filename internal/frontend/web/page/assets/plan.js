// The steps of the model's plan: in the transcript, and above the box while a turn works on them.

import { h, show, text } from "./dom.js";
import { running } from "./fold.js";
import { named } from "./visible.js";

/** The steps of a plan; none if the arguments are not understood. */
export function planSteps(args) {
  try {
    return JSON.parse(args).plan.map((s) => ({ step: String(s.step), status: String(s.status) }));
  } catch {
    return [];
  }
}

/** The steps as a list. */
export const planList = (steps) => h("ul", { class: "plan" }, steps.map((s) => h("li", { data: { status: s.status } }, named(s.step))));

/** The call that made the latest plan of the session, or undefined. */
function latest(s) {
  const made = (i) => i.type === "tool_call" && i.status === "completed" && i.content.name === "plan";
  for (let n = s.turns.length - 1; n >= 0; n--) {
    const call = s.turns[n].items.findLast(made);
    if (call) return call;
  }
  return undefined;
}

/** {update()}: the latest plan while a turn runs. One that is done is one line, and only in its turn. */
export function planView(el, app) {
  const title = h("span", { class: "title" });
  const steps = h("div", { class: "steps", role: "group", "aria-label": "Steps of the plan", tabindex: "0" });
  const button = h("button", { type: "button", class: "disclosure", on: { click: () => { closed = !steps.hidden; open(!closed); } } },
    h("span", { class: "turner", "aria-hidden": "true" }), title);
  const open = (on) => { show(steps, on); button.setAttribute("aria-expanded", String(on)); };
  let closed = false, drawn = "";
  el.replaceChildren(button, steps);
  return {
    update() {
      const t = running(app.state), call = t && latest(app.state), list = call ? planSteps(call.content.arguments) : [];
      const done = list.filter((s) => s.status === "completed").length;
      show(el, list.length > 0 && (done < list.length || call.turn === t.id));
      if (el.hidden || drawn === call.content.arguments) return;
      drawn = call.content.arguments;
      const current = list.find((s) => s.status === "in_progress");
      text(title, `Plan, ${done} of ${list.length} done${current ? `: ${named(current.step)}` : ""}`);
      steps.replaceChildren(planList(list));
      open(!closed && done < list.length);
      const at = steps.querySelectorAll("li")[current ? list.indexOf(current) : done];
      if (at) steps.scrollTop = at.offsetTop - steps.clientHeight / 2;
    },
  };
}
