// The rules of axe-core on each screen of the page: no finding that is serious.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";
import { cutShort, harbor, underWay } from "./films.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser, fake;
before(async () => { browser = await launch(); fake = Object.assign(await fakeServer(), { plugins: [{ name: "demo", state: "changed", from: "/home/ada/demo", has: "1 skill" }] }); });
after(async () => { await browser?.close(); await fake?.stop(); });

/** What is serious or worse: the rule, and where. */
async function findings(page, rules) {
  await page.evaluate(axe); // not a script of the page: the policy stays in force
  return page.evaluate(async (only) => {
    const found = await window.axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: { type: "rule", values: only } } : {}) });
    return found.violations.filter((v) => v.impact === "serious" || v.impact === "critical").flatMap((v) => v.nodes.slice(0, 5).map((n) => `${v.id}: ${n.target.join(" ")}: ${n.html.slice(0, 160)}`));
  }, rules);
}

/** What differs in another theme or width. */
const SOME = ["overview", "a transcript, all of it open", "a review with a comment", "a question"];

for (const [name, options, screens, rules] of [
  ["wide, light", { viewport: { width: 1400, height: 900 }, colorScheme: "light" }],
  ["wide, dark: contrast", { viewport: { width: 1400, height: 900 }, colorScheme: "dark" }, SOME, ["color-contrast"]],
  ["360 pixels, light", { viewport: { width: 360, height: 740 }, colorScheme: "light" }, SOME],
]) {
  test(`no serious finding of axe: ${name}`, async () => {
    const id = `axe-${name.replace(/\W+/g, "-")}`, film = fake.film(id), wide = options.viewport.width > 720;
    harbor(film);
    cutShort(film);
    film.childEntries = [{ id: "c-1", parent: id, title: "Look at the tests", state: "running" }, { id: "c-2", parent: "c-1", title: "Run them", state: "closed", outcome: "failed" }];
    const { page, context, check } = await open(browser, fake.url, { ...options, signedOut: true });
    const look = async (what) => { if (!screens || screens.includes(what)) assert.deepEqual(await findings(page, rules), [], what); };
    await look("sign in");
    await page.fill("#sign-in-token", fake.token);
    await page.keyboard.press("Enter");
    await page.locator(".facts").waitFor();
    await look("before the first message");
    await page.goto(`${fake.url}#/overview`);
    await page.locator("#overview .tree a").first().waitFor();
    await look("overview");
    await page.goto(`${fake.url}#/s/${id}`);
    await page.locator(".turn-line").last().waitFor();
    await page.evaluate(() => { for (const b of document.querySelectorAll("#scroller .disclosure")) if (b.getAttribute("aria-expanded") === "false") b.click(); });
    await look("a transcript, all of it open");
    await page.click("#more");
    await look("the menu");
    if (wide) await page.keyboard.press("Escape"); else await page.getByRole("menuitem", { name: "Changes" }).click();
    if (wide) await page.click("#changes-button");
    await page.locator(".gutter").nth(4).click();
    await page.locator(".comment-form textarea").waitFor();
    await look("a review with a comment");
    if (wide) {
      await page.getByRole("radio", { name: "Side by side" }).check({ force: true });
      await look("a review, side by side");
    }
    await page.locator(".review-foot").getByRole("button", { name: "Close" }).click();
    underWay(film);
    await page.waitForSelector(".approval");
    await look("a question");
    if (wide) {
      await page.click("#jobs-button");
      await page.click("#settings-button");
      await page.locator("#setting-model option").first().waitFor({ state: "attached" });
      await page.locator("#settings .plugins li").waitFor();
      await look("the settings");
      await page.keyboard.press("Escape");
      await page.click("#help-button");
      await look("the keys");
      await page.keyboard.press("Escape");
      Object.assign(film, { dead: true, host: { pid: 4242, kind: "run", takes: true } });
      for (const r of film.readers) r.end("event: closed\ndata: {}\n\n");
      await page.locator(".approval .elsewhere code").waitFor();
      await look("a question of another process");
    }
    check();
    await context.close();
    fake.films.delete(id);
  });
}
