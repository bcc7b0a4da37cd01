// Sessions of 10,000 items: they are shown, scrolled and continued, with as
// many elements as the window needs. What it took is printed, not judged:
// machines differ.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";

let browser, fake;
before(async () => { browser = await launch(); fake = await fakeServer(); });
after(async () => { await browser?.close(); await fake?.stop(); });

const prose = "I looked at `lock.go` and **three** other files.\n\n- The first takes the lock twice\n- The second never lets go\n\n```go\nh.mu.Lock()\ndefer h.mu.Unlock()\n```\n\nThe rest is as it was; see the table.\n\n| file | what |\n|---|---|\n| `a.go` | fine |\n";

/** Turns of 20 items each: half messages and reasoning, half calls. */
function work(f, turns, items) {
  for (let t = 0; t < turns; t++) {
    f.turn(`Question ${t}: what else is there to do?`);
    for (let n = 0; n < items / 4; n++) {
      f.attempt(n + 1, 1);
      f.pass(300);
      f.say(`I think about step ${n} of turn ${t}.`, "reasoning", 5);
      f.say(`Step ${n} of turn ${t}. ${prose}`, "message", 5, 120);
      const a = f.runs(f.ready("shell", { command: `make step-${t}-${n}` }), `make step-${t}-${n}`);
      const b = f.runs(f.ready("read", { path: `src/${n}.go` }), `src/${n}.go`);
      f.attemptEnds({ stop_reason: "tool_use" });
      f.pass(400);
      f.end(b, { output: "package x\n".repeat(20) });
      f.delta(a, "cc -c harbor.c\n".repeat(12), "output");
      f.pass(500);
      f.end(a);
    }
    f.completes();
    f.pass(1000);
  }
}

/** Runs in the page: counts frames and long tasks from the beginning. */
function watch() {
  window.seen_ = { frames: 0, longest: 0, tasks: 0, longestFrame: 0, last: performance.now() };
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) { window.seen_.tasks++; window.seen_.longest = Math.max(window.seen_.longest, Math.round(e.duration)); }
  }).observe({ type: "longtask", buffered: true });
  const frame = (at) => { window.seen_.frames++; window.seen_.longestFrame = Math.max(window.seen_.longestFrame, Math.round(at - window.seen_.last)); window.seen_.last = at; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}

const shapes = [["500 turns of 20 items", 500, 20], ["one turn of 10,000 items", 1, 10_000]];
for (const [shape, turns, items] of shapes) {
  test(`10,000 items: ${shape}`, async (t) => {
    const f = fake.film(`large-${turns}`);
    f.at = Date.now() - 40 * 3600_000;
    work(f, turns, items);
    f.at = null;
    const { page, context, check } = await open(browser, "about:blank");
    await page.addInitScript(watch);
    const begin = Date.now();
    await page.goto(`${fake.url}#/s/${f.id}`);
    await page.waitForSelector(`[data-key="end t${String(turns).padStart(6, "0")}"]`, { timeout: 60_000 });
    const shown = Date.now() - begin;
    const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
    const loading = await page.evaluate(() => ({ ...window.seen_ }));

    // From the end to the beginning and back, as a wheel does.
    await page.evaluate(() => Object.assign(window.seen_, { longest: 0, tasks: 0, longestFrame: 0, frames: 0 }));
    await page.locator("#scroller").hover();
    let most = 0;
    for (let n = 0; n < 40; n++) {
      await page.mouse.wheel(0, -2500);
      most = Math.max(most, await elements());
    }
    const earlier = page.locator(".earlier:not([hidden])");
    for (let before = ""; await earlier.count(); await page.waitForFunction((words) => { const b = document.querySelector(".earlier"); return b.hidden || b.textContent !== words; }, before, { timeout: 60_000 })) {
      before = await earlier.textContent();
      await earlier.evaluate((b) => b.click());
    }
    await page.evaluate(() => { document.getElementById("scroller").scrollTop = 0; });
    await page.locator('[data-key="turn t000001"]').getByText("Question 0:").waitFor();
    assert.ok(await page.evaluate(() => document.getElementById("scroller").scrollTop) < 400, "the beginning is the beginning");
    await page.evaluate(() => { const s = document.getElementById("scroller"); s.scrollTop = s.scrollHeight / 2; });
    await page.waitForFunction(() => {
      const s = document.getElementById("scroller").getBoundingClientRect();
      return [...document.querySelectorAll(".row")].some((r) => { const b = r.getBoundingClientRect(); return b.bottom > s.top && b.top < s.bottom; });
    });
    await page.getByRole("button", { name: "Latest" }).click();
    const scrolling = await page.evaluate(() => ({ ...window.seen_ }));

    // It goes on: what is typed and what streams is seen.
    await page.evaluate(() => Object.assign(window.seen_, { longest: 0, tasks: 0, longestFrame: 0, frames: 0 }));
    f.turn("One more");
    f.attempt();
    const m = f.start("message");
    await page.locator("#box").focus();
    for (let n = 0; n < 60; n++) {
      f.delta(m, `word ${n} `);
      await page.keyboard.type("x");
    }
    await page.locator(`[data-key="item ${m}"]`).getByText("word 59").waitFor();
    assert.equal(await page.inputValue("#box"), "x".repeat(60));
    const streaming = await page.evaluate(() => ({ ...window.seen_ }));
    const heap = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6));
    t.diagnostic(`${f.log.length} events, ${Math.round(f.lines.reduce((n, l) => n + l.length, 0) / 1e6)} MB; shown after ${shown} ms, longest task ${loading.longest} ms`);
    t.diagnostic(`scrolling: longest task ${scrolling.longest} ms, longest frame ${scrolling.longestFrame} ms; streaming: ${streaming.longest} ms, ${streaming.longestFrame} ms`);
    t.diagnostic(`elements: at most ${most}, now ${await elements()}; heap ${heap} MB`);
    assert.ok(most < 12_000, `${most} elements`);
    assert.ok(loading.frames > 3, "the browser drew while it was loading");
    check();
    await context.close();
  });
}
