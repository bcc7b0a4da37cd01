// Every kind of item, and logs of the simulation: a page that has seen the events come
// shows what a page shows that reads the log afterwards, and both show everything.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { every, foreign } from "./every.mjs";
import { Film, fakeServer } from "./fake.mjs";
import { follow } from "../assets/rows.js";
import { emptyState, fold } from "../assets/fold.js";

let browser, fake;
before(async () => { browser = await launch(); fake = await fakeServer(); });
after(async () => { await browser?.close(); await fake?.stop(); });

/** Runs in the page: blocks out of the window are drawn too. */
function drawAll() {
  window.IntersectionObserver = class {
    constructor(f) { this.f = f; }
    observe(target) { this.f([{ target, isIntersecting: true }]); }
    disconnect() {}
  };
}

/** What the page shows, row by row, with everything opened. */
function shown(page) {
  return page.evaluate(() => {
    for (const b of document.querySelectorAll("#scroller .disclosure[aria-expanded=false]")) b.click();
    return [...document.querySelectorAll("#scroller .blocks .row")].map((el) => ({ key: el.dataset.key, state: el.dataset.state ?? el.dataset.outcome ?? "", words: el.hidden ? "" : el.innerText.replace(/[ \t\u00a0]+/g, " ").trim() }));
  });
}

/** The keys of the rows that a log has. */
function keys(log) {
  const s = emptyState();
  return log.flatMap((e) => { fold(s, e); return follow(s, e).rows.map((r) => r.key); });
}

/** Two pages: one that is open while events come, and one that reads them afterwards. */
async function twoPages(f) {
  const [live, late] = await Promise.all([0, 0].map(async () => {
    const opened = await open(browser, "about:blank");
    await opened.context.addInitScript(drawAll);
    await opened.page.goto(fake.url);
    return opened;
  }));
  try {
    await f(live, late);
  } finally {
    await Promise.all([live.context.close(), late.context.close()]);
  }
}

/** Plays a log to the first page in pieces, and returns what that shows then, what the second one shows, and the keys of the rows. */
async function play({ page: live }, { page: late }, id, log, pieces) {
  const film = fake.film(id);
  film.load(log.slice(0, 1));
  await live.goto(`${fake.url}#/s/${id}`);
  await live.waitForSelector(`body[data-shown="${id}"]`);
  const size = Math.max(1, Math.ceil(log.length / pieces));
  for (let n = 1; n < log.length; n += size) {
    film.load(log.slice(n, n + size));
    await live.evaluate(() => new Promise((r) => { requestAnimationFrame(() => setTimeout(r)); }));
  }
  await late.goto(`${fake.url}#/s/${id}`);
  await late.waitForSelector(`body[data-shown="${id}"]`);
  const all = keys(log);
  for (const page of [live, late]) await page.waitForSelector(`[data-key="${all.at(-1)}"]`, { state: "attached" });
  return [await shown(live), await shown(late), all];
}

async function same(live, late, id, log, pieces) {
  const [one, other, all] = await play(live, late, id, log, pieces);
  assert.deepEqual(other, one, id);
  assert.deepEqual(one.map((r) => r.key), all, id);
  for (const p of [live, late]) p.check();
}

test("every kind of item, in every state, by every tool", { timeout: 120_000 }, async () => {
  const film = new Film(null, "s-every");
  every(film);
  await twoPages((live, late) => same(live, late, "s-every", film.log, 60));
});

test("an item that cannot be shown is shown raw, and nothing else is lost", async () => {
  const film = new Film(null, "s-foreign");
  const { message, call, note } = foreign(film);
  await twoPages(async (one, other) => {
    const [live, late, all] = await play(one, other, "s-foreign", film.log, film.log.length);
    assert.deepEqual(late, live);
    assert.deepEqual(live.map((r) => r.key), all);
    const words = (id) => live.find((r) => r.key === `item ${id}`).words;
    assert.match(words(message), /Cannot show this item[\s\S]*a message of another shape/);
    assert.match(words(call), /Cannot show this item[\s\S]*an output of another shape/);
    assert.match(words(note), /Cannot show this item[\s\S]*hologram/);
    assert.equal(live.filter((r) => /Cannot show/.test(r.words)).length, 3);
    for (const w of ["Before.", "After.", "Completed"]) assert.ok(live.some((r) => r.words.includes(w)), w);
  });
});

const logs = process.env.SETTLE_LOGS;
test("logs of the simulation", { skip: !logs || !existsSync(logs), timeout: 240_000 }, async (t) => {
  const all = readFileSync(logs, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l));
  await twoPages(async (live, late) => {
    for (const [n, log] of all.entries()) await same(live, late, `s-drawn-${n}`, log, 20);
  });
  t.diagnostic(`${all.length} logs of the simulation, ${all.reduce((sum, l) => sum + l.length, 0)} events`);
});

test("a question that cannot be shown can be denied, and not approved", async () => {
  const film = fake.film("s-question");
  film.turn("Ask");
  film.attempt();
  film.asks(film.ready("shell", {}), { tool: "shell", text: { parts: ["touch x"] } });
  film.asks(film.ready("shell", {}), { tool: "shell", text: "touch y" });
  const { page, context } = await open(browser, `${fake.url}#/s/s-question`);
  await page.waitForSelector(".approval >> nth=1");
  const card = page.locator(".approval").first();
  assert.match(await card.innerText(), /Cannot show this question[\s\S]*touch x/);
  assert.equal(await card.getByRole("button", { name: "Allow" }).count(), 0);
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  await page.locator(".approval >> nth=1").waitFor({ state: "detached" });
  assert.match(await page.locator(".approval").innerText(), /touch y/);
  await context.close();
});
