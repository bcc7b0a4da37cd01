// A film, and a page that shows it: what tests of one session begin with.

import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";

export let browser, fake;
let made = 0;
before(async () => { browser = await launch(); fake = await fakeServer(); });
after(async () => { await browser?.close(); await fake?.stop(); });

/** Runs f with a film and a page that shows it. */
export function scene(name, f, { options, prepare } = {}) {
  test(name, async () => {
    const film = fake.film(`s-${++made}`);
    prepare?.(film);
    const opened = await open(browser, `${fake.url}#/s/${film.id}`, options);
    const { page } = opened;
    try {
      await page.waitForSelector(`body[data-shown="${film.id}"]`);
      const row = (key) => page.locator(`[data-key="${key}"]`);
      const sent = (method, tail) => fake.requests.filter((r) => r.method === method && r.path.startsWith(`/api/sessions/${film.id}`) && r.path.includes(tail));
      await f({ ...opened, film, row, sent, text: (key) => row(key).innerText() });
      opened.check();
    } finally {
      await opened.context.close();
    }
  });
}

export const until = async (f, what) => {
  for (let n = 0; n < 400; n++) {
    if (await f()) return;
    await new Promise((r) => { setTimeout(r, 25); });
  }
  throw new Error(`never: ${what}`);
};

/** Answers the next input with a turn that has begun to speak. */
export const begins = (film) => new Promise((done) => {
  film.on.input = (body) => {
    film.on.input = null;
    film.turn("", [...film.state.waiting.filter((i) => i.held).map((i) => i.id), body.input]);
    film.attempt();
    done(body);
  };
});
