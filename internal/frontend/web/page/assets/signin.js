// The way in for a tab that has no token, or one that the server refuses.

import * as api from "./api.js";
import { show, text } from "./dom.js";
import * as token from "./token.js";

/** `entered` is called when the server has accepted a token. */
export function signInView(form, entered) {
  const box = form.querySelector("input"), button = form.querySelector("button"), problem = form.querySelector("[role=alert]");
  const say = (words) => { text(problem, words); show(problem, words !== ""); };

  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const value = token.tokenIn(box.value);
    if (!value) { say("This is not a link with a token, and not a token."); return; }
    button.disabled = true;
    say("");
    const before = token.value();
    token.keep(value);
    try {
      await api.sessions();
      box.value = "";
      entered();
    } catch (err) {
      token.keep(before);
      say(err.status === 401 ? "The server does not accept this token. Use the link that settle serve printed when it last started." : err.message);
    } finally {
      button.disabled = false;
    }
  });

  return {
    show(words) {
      document.body.classList.add("out");
      document.title = "Sign in \u2013 settle";
      show(form, true);
      say(words);
      box.focus();
    },
    hide() {
      document.body.classList.remove("out");
      show(form, false);
    },
  };
}
