// The browser of the tests. SETTLE_CHROMIUM names another one.

import { chromium } from "playwright-core";
import { token } from "./token.mjs";

export const launch = () => chromium.launch({
  executablePath: process.env.SETTLE_CHROMIUM ?? "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** A page whose errors and broken policies fail the test: check() throws them. */
export async function open(browser, url, { signedOut, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce", ...options });
  if (!signedOut) await context.addInitScript((t) => { if (location.protocol.startsWith("http") && !sessionStorage.getItem("settle.token")) sessionStorage.setItem("settle.token", t); }, token);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (e) => wrong.push(e.stack));
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource|net::ERR/.test(m.text())) wrong.push(m.text()); });
  page.setDefaultTimeout(10_000);
  await page.goto(url);
  const check = () => { if (wrong.length) throw new Error(`the page complained:\n${wrong.join("\n")}`); };
  return { page, context, check, wrong };
}
