// The page against the real binary, with a model that follows a script. The
// binary is SETTLE_BIN.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { launch, open } from "./browser.mjs";
import { token } from "./token.mjs";

const bin = process.env.SETTLE_BIN;
const words = Array.from({ length: 60 }, (_, n) => `word${n}`).join(" ");
const scenario = { turns: [
  { when: "alpha", items: [{ think: "I look first." }, { say: "I write a **greeting**." }, { call: "write", arguments: { path: "hello.txt", content: "hello\n" } }, { call: "shell", arguments: { command: "touch here.txt; echo from-the-shell" } }], faults: [{ fault: "status", status: 529, times: 1, retry_after: "0.2" }] },
  { when: "alpha", items: [{ say: "Both are done." }] },
  { when: "bravo", items: [{ say: "Now something long." }, { call: "shell", arguments: { command: "touch one.txt; echo awake; sleep 4711" } }] },
  { when: "bravo", items: [{ say: "I go on." }] },
  { when: "charlie", items: [{ say: words }], pace: "40ms" },
  { when: "delta", items: [{ say: "Before the end." }, { call: "shell", arguments: { command: "touch two.txt; echo awake; sleep 4712" } }] },
  { when: "delta", items: [{ say: "After the end." }] },
  { when: "echo", items: [{ say: "I am asked." }] },
  { when: "foxtrot", items: [{ call: "write", arguments: { path: "refused.txt", content: "no" } }] },
  { when: "foxtrot", items: [{ say: "That was refused." }] },
  { when: "golf", items: [{ call: "write", arguments: { path: "golf.txt", content: "held\n" } }] },
  { when: "golf", items: [{ say: "Golf goes on." }] },
  { when: "hotel", items: [{ call: "write", arguments: { path: "hotel.txt", content: "held\n" } }] },
] };

const dir = mkdtempSync(join(tmpdir(), "settle-page-"));
let browser, model, server, base;

/** Starts the binary and returns it with the first line that it prints. */
async function start(...args) {
  const child = spawn(bin, args, { cwd: dir, env: { PATH: process.env.PATH, HOME: dir, OPENAI_API_KEY: "sk-not-a-key-of-anybody-0123456789" }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "", errors = "";
  child.stderr.on("data", (d) => { errors += d; });
  child.ended = new Promise((r) => { child.on("exit", r); });
  await Promise.race([
    new Promise((r) => { child.stdout.on("data", (d) => { said += d; if (said.includes("\n")) r(); }); }),
    child.ended.then((code) => { throw new Error(`settle ${args[0]} exited with ${code}: ${errors}`); }),
  ]);
  child.said = said;
  return child;
}

const serve = async (addr) => {
  server = await start("serve", "-m", "chat/any", "--base-url", model.url, "--data-dir", join(dir, "data"), "--token-file", join(dir, "token"), "--addr", addr, "--no-project-config");
  base = /https?:\/\/[^/\s]+/.exec(server.said)[0];
};

before(async () => {
  assert.ok(bin, "SETTLE_BIN names the binary");
  writeFileSync(join(dir, "scenario.json"), JSON.stringify(scenario));
  writeFileSync(join(dir, "token"), `${token}\n`, { mode: 0o600 });
  browser = await launch();
  model = await start("fake-model", "--scenario", join(dir, "scenario.json"));
  model.url = /http:\S+\/v1/.exec(model.said)[0];
  await serve("127.0.0.1:0");
});

after(async () => {
  await browser?.close();
  for (const child of [server, model]) {
    child?.kill("SIGTERM");
    await child?.ended;
  }
  rmSync(dir, { recursive: true, force: true });
});

/** Opens the page with the token, on a session of its own, and asks. */
async function ask(text) {
  const opened = await open(browser, `${base}/#token=${token}`, { signedOut: true });
  const { page } = opened;
  assert.ok(!page.url().includes("token"), "the token is not left in the address");
  await page.getByRole("button", { name: "New session" }).click();
  await page.locator(".home").waitFor();
  await page.fill("#box", text);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.body.dataset.shown && location.hash.includes(document.body.dataset.shown));
  await page.locator('[data-key="turn t000001"]').waitFor();
  return opened;
}

const running = (command) => {
  try { return execFileSync("pgrep", ["-f", `^sleep ${command}$`]).toString(); } catch { return ""; }
};

/** Waits until the command says so, and the process is there. */
async function runs(page, command) {
  await page.locator(".peek").getByText("awake").waitFor();
  for (let n = 0; n < 200 && !running(command); n++) await new Promise((r) => { setTimeout(r, 25); });
  assert.notEqual(running(command), "");
}

test("a prompt, a retry, approvals, an edit, the end", async () => {
  const { page, context, check } = await ask("alpha");
  await page.waitForSelector(".approval >> nth=1");
  const write = page.locator(".approval", { hasText: "write" });
  assert.match(await write.innerText(), /hello\.txt/);
  await write.getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator(".approval", { hasText: "touch here.txt; echo from-the-shell" }).getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator('[data-key="end t000001"]').waitFor();
  assert.equal(readFileSync(join(dir, "hello.txt"), "utf8"), "hello\n");
  const said = await page.locator("#scroller").innerText();
  await page.click("#more");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Export" }).click()]);
  const log = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.match(file.suggestedFilename(), /\.jsonl$/);
  assert.deepEqual([log[0].kind, log.at(-1).kind], ["session.opened", "turn.completed"]);
  for (const want of [/Attempt 1 failed: .*529.*Retried/, /Thought for/, /I write a greeting/, /hello\.txt[\s\S]*\+1/, /from-the-shell/, /allowed once from the web page/, /Both are done/, /Completed/]) assert.match(said, want);
  // Back to before it: the file goes, and the file that the command made.
  const { hash } = new URL(page.url());
  await page.locator('[data-key="turn t000001"]').hover();
  await page.locator('[data-key="turn t000001"]').getByRole("button", { name: "Go back" }).click();
  await page.locator("#rewind").getByText("touch here.txt").waitFor();
  await page.getByRole("button", { name: "Restore 2 files" }).click();
  await page.locator("#notice").getByText("Restored 2 files").waitFor();
  assert.ok(!existsSync(join(dir, "hello.txt")) && !existsSync(join(dir, "here.txt")));
  assert.equal(await page.inputValue("#box"), "alpha");
  assert.notEqual(new URL(page.url()).hash, hash);
  check();
  await context.close();
});

test("an interrupt in the middle of a command ends it; the session goes on", async () => {
  const { page, context, check } = await ask("bravo");
  await page.locator(".approval").getByRole("button", { name: "Allow once", exact: true }).click();
  await runs(page, "4711");
  await page.fill("#box", "queued meanwhile");
  await page.keyboard.press("Enter");
  await page.getByText("Queued", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator('[data-key="end t000001"]').getByText("Interrupted from the web page").waitFor();
  assert.equal(running("4711"), "", "the command is gone");
  await page.locator(".waiting .held").waitFor();
  await page.fill("#box", "go on");
  await page.keyboard.press("Enter");
  await page.locator('[data-key="end t000002"]').waitFor();
  assert.match(await page.locator('[data-key="turn t000002"]').innerText(), /queued meanwhile[\s\S]*go on/);
  await page.getByText("I go on.", { exact: true }).last().waitFor();
  check();
  await context.close();
});

test("a reload and a second window in the middle of a stream", async () => {
  const { page, context, check } = await ask("charlie");
  const message = page.locator("#scroller .message");
  await message.getByText("word3 ").waitFor();
  await page.reload();
  await message.getByText("word8 ").waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await other.fill("#sign-in-token", `${base}/#token=${token}`);
  await other.keyboard.press("Enter");
  await other.locator('[data-key="end t000001"]').waitFor();
  await page.locator('[data-key="end t000001"]').waitFor();
  for (const p of [page, other]) assert.equal((await p.locator("#scroller .message").innerText()).trim(), words);
  check();
  await context.close();
});

test("another model, and a permission that refuses; a path after @", async () => {
  const { page, context, check } = await ask("echo");
  await page.locator('[data-key="end t000001"]').waitFor();
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Model", { exact: true }).selectOption({ label: "Another model\u2026" });
  await page.keyboard.type("chat/other");
  await page.getByLabel("Effort").selectOption("low");
  await page.getByLabel("read-only").check();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.locator("#where").getByText(/chat\/other \u00b7 low effort \u00b7 read-only/).waitFor();
  writeFileSync(join(dir, "grün.txt"), "");
  await page.fill("#box", "");
  await page.keyboard.type("foxtrot @grü");
  await page.locator("#paths").getByText("grün.txt").waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#box"), "foxtrot @grün.txt ");
  await page.keyboard.press("Enter");
  await page.locator('[data-key="end t000002"]').waitFor();
  assert.match(await page.locator("#scroller").innerText(), /denied[\s\S]*That was refused/);
  assert.equal(existsSync(join(dir, "refused.txt")), false);
  await page.click("#more");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Export" }).click()]);
  const log = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(log.filter((e) => e.kind === "turn.started").map((e) => e.data.model), ["any", "other"]);
  check();
  await context.close();
});

test("the server is killed in the middle of a turn and comes back", async () => {
  const { page, context, wrong } = await ask("delta");
  await page.locator(".approval").getByRole("button", { name: "Allow once", exact: true }).click();
  await runs(page, "4712");
  const { host } = new URL(base);
  server.kill("SIGKILL");
  await server.ended;
  await page.locator("#link").waitFor();
  await page.fill("#box", "written while it was away");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent", { exact: true }).waitFor();
  await serve(host);
  await page.locator('[data-key="end t000001"]').getByText("Crashed").waitFor({ timeout: 20_000 });
  await page.locator('[data-key="end t000002"]').waitFor({ timeout: 20_000 });
  await page.getByText("Recovered:").waitFor();
  await page.getByText("After the end.", { exact: true }).last().waitFor();
  assert.equal(running("4712"), "");
  assert.deepEqual(wrong, []);
  await context.close();
});

/** Asks, and restarts the server by a signal while the question is open. Returns the page and its held card. */
async function held(word, signal) {
  const opened = await ask(word), { page } = opened;
  await page.locator(".approval").getByRole("button", { name: "Allow once", exact: true }).waitFor();
  const { host } = new URL(base);
  server.kill(signal);
  await server.ended;
  if (signal === "SIGKILL") await page.locator("#link").waitFor();
  else await page.getByText(/^Closed/).waitFor();
  await serve(host);
  const card = page.locator(".approval", { hasText: "It waited when settle stopped" });
  await card.waitFor({ timeout: 20_000 });
  assert.equal(await page.locator(".approval").count(), 1);
  assert.match(await card.innerText(), new RegExp(`${word}\\.txt[\\s\\S]*held`));
  assert.deepEqual(await card.locator(".answers button").allInnerTexts().then((all) => all.filter(Boolean)), ["Allow it and run it now", "Deny\u2026"]);
  return { ...opened, card };
}

test("a call that waited when the server was killed is allowed later", async () => {
  const { page, context, card, wrong } = await held("golf", "SIGKILL");
  await page.keyboard.press("Alt+a");
  await page.keyboard.press("a");
  await page.locator('[data-key="end t000002"]').waitFor({ timeout: 20_000 });
  await page.getByText("Golf goes on.", { exact: true }).first().waitFor();
  assert.equal(await card.count(), 0);
  assert.equal(readFileSync(join(dir, "golf.txt"), "utf8"), "held\n");
  assert.deepEqual(wrong, []);
  await context.close();
});

test("of two answers to a held call, the first counts, and the page says so", async () => {
  const { page, context, card } = await held("hotel", "SIGTERM");
  const id = decodeURIComponent(new URL(page.url()).hash.slice(4)), headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  // The page does not hear of the other answer before its own.
  await page.route("**/api/sessions/*/events*", (route) => route.abort());
  const { held_calls: [call] } = await (await fetch(`${base}/api/sessions/${id}`, { headers })).json();
  const first = await fetch(`${base}/api/sessions/${id}/approvals/${call.approval}`, { method: "POST", headers, body: JSON.stringify({ verdict: "denied", message: "no" }) });
  assert.equal(first.status, 204);
  await card.getByRole("button", { name: "Allow it and run it now" }).click({ timeout: 3000 }).catch(() => {});
  await page.locator("#notice").getByText("Already answered: denied").waitFor();
  await card.waitFor({ state: "detached" });
  assert.ok(!existsSync(join(dir, "hotel.txt")));
  await context.close();
});

test("the server is told to end: the page says so, and sending goes on when it is back", async () => {
  const { page, context, check } = await ask("nobody answers this");
  await page.locator('[data-key="end t000001"]').getByText("Failed").waitFor({ timeout: 20_000 });
  const { host } = new URL(base);
  server.kill("SIGTERM");
  assert.equal(await server.ended, 0);
  await page.getByText(/^Closed/).waitFor();
  await page.getByText("The server cannot be reached.").waitFor();
  await page.fill("#box", "are you back?");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent", { exact: true }).waitFor();
  await serve(host);
  await page.locator('[data-key="turn t000002"]').getByText("are you back?").waitFor({ timeout: 20_000 });
  await page.locator('[data-key="end t000002"]').waitFor({ timeout: 20_000 });
  check();
  await context.close();
});
