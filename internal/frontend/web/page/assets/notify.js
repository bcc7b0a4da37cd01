// A notification of the browser when a session asks, for whoever wants that.

import { show, text } from "./dom.js";
import { named } from "./visible.js";

const KEY = "settle.notify";

/** {update(sessions)}; app gives {keep, kept, notice, openSession(id), seen(id)}. */
export function notifyView(button, app) {
  let asked = null; // how many approvals each session had; null before the first list
  const allowed = () => "Notification" in window && Notification.permission === "granted";
  const isOn = () => allowed() && app.kept(KEY) === "on";
  const draw = () => {
    show(button, "Notification" in window);
    button.setAttribute("aria-pressed", String(isOn()));
    text(button, isOn() ? "Notifications on" : "Notify me");
  };
  button.addEventListener("click", async () => {
    if (isOn()) app.keep(KEY, "");
    else if (await Notification.requestPermission() === "granted") app.keep(KEY, "on");
    else app.notice("The browser does not allow notifications from this page.");
    draw();
  });
  draw();

  function tell(s) {
    try {
      const note = new Notification(`settle asks: ${named(s.title || "New session").slice(0, 80)}`, { body: named(s.dir ?? ""), tag: s.id });
      note.onclick = () => { window.focus(); note.close(); app.openSession(s.id); };
    } catch {
      app.notice("This browser shows notifications only to installed pages."); // Chrome on Android
    }
  }

  return {
    isOn,
    /** Tells of each session that asks more than before, unless a person looks at it. */
    update(sessions) {
      const before = asked;
      asked = new Map(sessions.map((s) => [s.id, s.approvals]));
      if (!before || !isOn()) return;
      for (const s of sessions) if (s.approvals > (before.get(s.id) ?? 0) && !app.seen(s.id)) tell(s);
    },
  };
}
