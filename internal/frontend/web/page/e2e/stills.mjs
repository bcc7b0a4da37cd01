// Pictures of the page: node e2e/stills.mjs DIRECTORY. "make pictures" puts them into docs/pictures.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";
import { cutShort, harbor, underWay } from "./films.mjs";

const dir = process.argv[2] ?? "stills", QUALITY = 70;
mkdirSync(dir, { recursive: true });
const fake = await fakeServer(), browser = await launch();

const past = (id, text, hours, more = {}) => {
  const f = fake.film(id);
  Object.assign(f, more, { at: Date.now() - hours * 3600_000 });
  f.turn(text);
  f.attempt();
  f.say("Done.");
  f.attemptEnds();
  if (more.fails) f.turnEnds("turn.failed", { error: { name: "ProviderError", kind: "overloaded", message: "overloaded" } });
  else f.completes();
  if (!more.stays) f.close();
  return f;
};
const harborFilm = fake.film("s-harbor");
harbor(harborFilm);
cutShort(harborFilm);
past("s-two", "Rename the package to berth", 3, { stays: true });
past("s-held", "Tag v0.4 and push it", 4, { heldCalls: 1 });
past("s-three", "Why is the build slow on arm64?", 5);
past("s-four", "Write the release notes for v0.4", 26, { dir: "/home/ada/crane" });
past("s-five", "Update the dependencies, one at a time", 27, { dir: "/home/ada/crane", fails: true });
for (const n of [1, 2, 3]) past(`s-hi-${n}`, "hi", 28, { trivial: true });

/** Takes a picture of each width and theme. */
async function scene(name, hash, prepare) {
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1400, 900], [360, 740]]) {
      const { page, context, wrong } = await open(browser, `${fake.url}${hash}`, { colorScheme, viewport: { width, height } });
      await prepare(page, width);
      await page.waitForTimeout(500);
      const cdp = await context.newCDPSession(page);
      const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      writeFileSync(join(dir, `page-${name}-${width}-${colorScheme}.webp`), Buffer.from(data, "base64"));
      if (wrong.length) throw new Error(wrong.join("\n"));
      await context.close();
    }
  }
}

await scene("start", "", (page) => page.locator(".facts").waitFor());
await scene("turn", "#/s/s-harbor", async (page) => {
  await page.locator('[data-key="end t000001"]').waitFor();
  await page.locator('[data-key="end t000001"] .turn-line').click();
  await page.locator('[data-key="end t000001"]').evaluate((el) => el.scrollIntoView({ block: "end" }));
});
await scene("review", "#/s/s-harbor", async (page, width) => {
  await page.locator(".turn-line").last().waitFor();
  await page.keyboard.press("Alt+c");
  if (width > 720) await page.getByRole("radio", { name: "Side by side" }).check({ force: true });
  await page.getByRole("button", { name: /^Comment on line 22, added/ }).click();
  await page.keyboard.type("Say in a comment why the wait can fail.");
  await page.keyboard.press("Control+Enter");
});
underWay(harborFilm);
harborFilm.childEntries = [
  { id: "c-1", parent: "s-harbor", title: "Look for other callers of Acquire", state: "running" },
  { id: "c-2", parent: "c-1", title: "Search the vendored packages", state: "closed", outcome: "completed" },
];
const builds = fake.film("s-build");
builds.turn("Build the image for arm64, and compare its size");
builds.attempt();
builds.runs(builds.ready("shell", { command: "docker buildx build ." }), "docker buildx build .");
const plan = builds.ready("plan", { plan: [{ step: "Build the image", status: "completed" }, { step: "Compare its size with the last one", status: "in_progress" }, { step: "Write it down", status: "pending" }] });
builds.end(builds.runs(plan, "plan, 1 of 3 done: Compare its size with the last one"), { output: "ok" });
await scene("plan", "#/s/s-build", (page) => page.locator("#plan").waitFor());
await scene("question", "#/s/s-harbor", (page) => page.locator(".approval").waitFor());
await scene("overview", "#/overview", (page) => page.locator("#overview .tree a").first().waitFor());
await browser.close();
await fake.stop();
