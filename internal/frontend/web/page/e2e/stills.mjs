// Pictures of the page for people to look at: node e2e/stills.mjs DIRECTORY

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";
import { cutShort, harbor, underWay } from "./films.mjs";

const dir = process.argv[2] ?? "stills";
mkdirSync(dir, { recursive: true });
const fake = await fakeServer(), browser = await launch();
const f = fake.film("s-harbor");
harbor(f);
cutShort(f);
for (const [id, text] of [["s-two", "Rename the package to berth"], ["s-three", "Why is the build slow on arm64?"], ["s-four", "Write the release notes for v0.4"]]) {
  const g = fake.film(id);
  g.at = Date.now() - 3 * 3600_000;
  g.turn(text);
  g.attempt();
  g.say("Done.");
  g.attemptEnds();
  g.completes();
  if (id !== "s-two") g.close();
}
for (const colorScheme of ["light", "dark"]) {
  for (const [name, viewport] of [["wide", { width: 1280, height: 860 }], ["narrow", { width: 360, height: 740 }]]) {
    const { page, context, wrong } = await open(browser, `${fake.url}#/s/s-harbor`, { colorScheme, viewport });
    const shot = async (what) => { await page.waitForTimeout(400); await page.screenshot({ path: join(dir, `${name}-${colorScheme}-${what}.png`) }); };
    await page.waitForSelector('[data-key="end t000001"]');
    await page.evaluate(() => document.querySelector('[data-key="turn t000001"]').scrollIntoView());
    await page.locator('[data-key="item i000004"] .disclosure').click();
    await shot("1-work");
    await page.evaluate(() => document.querySelector('[data-key="end t000001"]').scrollIntoView({ block: "end" }));
    await shot("2-answer");
    await page.evaluate(() => { document.getElementById("scroller").scrollTop = 1e9; });
    await shot("3-cut");
    if (name === "narrow") { await page.click("#menu"); await shot("4-sessions"); }
    if (wrong.length) console.log(wrong);
    await context.close();
  }
}
for (const colorScheme of ["light", "dark"]) {
  for (const [name, viewport] of [["wide", { width: 1280, height: 860 }], ["narrow", { width: 360, height: 740 }]]) {
    const { page, context } = await open(browser, fake.url, { colorScheme, viewport, signedOut: true });
    await page.fill("#sign-in-token", "wrong");
    await page.keyboard.press("Enter");
    await page.getByText("does not accept").waitFor();
    await page.screenshot({ path: join(dir, `${name}-${colorScheme}-0-sign-in.png`) });
    await context.close();
  }
}
underWay(f);
for (const colorScheme of ["light", "dark"]) {
  for (const [name, viewport] of [["wide", { width: 1280, height: 860 }], ["narrow", { width: 360, height: 740 }]]) {
    const { page, context } = await open(browser, `${fake.url}#/s/s-harbor`, { colorScheme, viewport });
    await page.waitForSelector(".approval");
    await page.waitForTimeout(700);
    await page.screenshot({ path: join(dir, `${name}-${colorScheme}-5-asks.png`) });
    await page.click("#jobs-button");
    await page.screenshot({ path: join(dir, `${name}-${colorScheme}-6-jobs.png`) });
    await context.close();
  }
}
await browser.close();
await fake.stop();
