// The page behind a proxy that serves it below a prefix.

import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import test from "node:test";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";

test("behind a proxy with a path prefix: files, events, answers and the manifest", { timeout: 60_000 }, async (t) => {
  const fake = await fakeServer(), browser = await launch(), strange = [];
  const proxy = createServer((req, res) => {
    if (!req.url.startsWith("/tools/settle/")) {
      if (req.url !== "/favicon.ico") strange.push(req.url);
      res.writeHead(404).end();
      return;
    }
    const on = request(new URL(req.url.slice("/tools/settle".length), fake.url), { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    on.on("error", () => res.destroy());
    res.on("close", () => on.destroy());
    req.pipe(on);
  });
  await new Promise((r) => { proxy.listen(0, "127.0.0.1", r); });
  t.after(async () => {
    await browser.close();
    proxy.closeAllConnections();
    proxy.close();
    await fake.stop();
  });
  const base = `http://127.0.0.1:${proxy.address().port}/tools/settle/`;
  const film = fake.film("s-1");
  const { page, context, check } = await open(browser, `${base}#token=${fake.token}`, { signedOut: true });
  await page.locator("#session-list a").first().click();
  await page.waitForSelector('body[data-shown="s-1"]');
  assert.equal(page.url(), `${base}#/s/s-1`);
  const began = new Promise((done) => { film.on.input = done; });
  await page.fill("#box", "Hello");
  await page.keyboard.press("Enter");
  film.turn("", [(await began).input]);
  film.attempt();
  film.say("I am below a prefix.");
  await page.locator("#scroller").getByText("I am below a prefix.").waitFor();
  const manifest = await page.evaluate(async () => {
    const link = document.querySelector("link[rel=manifest]").href;
    const m = await (await fetch(link)).json();
    return { start: new URL(m.start_url, link).href, scope: new URL(m.scope, link).href, icon: (await fetch(new URL(m.icons[0].src, link))).status };
  });
  assert.deepEqual(manifest, { start: base, scope: base, icon: 200 });
  const installable = await (await context.newCDPSession(page)).send("Page.getAppManifest");
  assert.deepEqual([installable.errors, installable.url], [[], `${base}assets/app.webmanifest`]);
  assert.deepEqual(strange, [], "nothing is asked for outside of the prefix");
  check();
});
