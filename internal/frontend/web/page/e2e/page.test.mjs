// The page in a browser, against films.

import assert from "node:assert/strict";
import test from "node:test";
import { open } from "./browser.mjs";
import { token } from "./token.mjs";
import { fakeServer, WORDS } from "./fake.mjs";
import { cutShort, detail, harbor, underWay } from "./films.mjs";
import { begins, browser, fake, scene, until } from "./scene.mjs";

scene("a prompt is sent, streams and completes", async ({ page, film, row, text }) => {
  const begun = begins(film);
  await page.fill("#box", "Say\nsomething");
  await page.keyboard.press("Enter");
  const body = await begun;
  assert.equal(body.text, "Say\nsomething");
  await row("turn t000001").waitFor();
  assert.equal(await page.inputValue("#box"), "");
  const m = film.start("message");
  for (const [piece, want] of [["Hello **wor", "Hello **wor"], ["ld**!\n\n- o", "Hello world!\no"], ["ne\n- two\n", "Hello world!\none\ntwo"]]) {
    film.delta(m, piece);
    await until(async () => (await text("item i000001")).replace(/\n+/g, "\n").trim() === want, want);
  }
  assert.equal(await page.locator("#state").innerText(), "running");
  film.end(m);
  film.attemptEnds();
  film.completes();
  await row("end t000001").waitFor();
  assert.match(await text("end t000001"), /Completed/);
  assert.ok(await row("end t000001").locator(".strip .stream").count() > 0, "the line shows the model");
  assert.ok(await row("end t000001").evaluate((el) => el.offsetHeight < 60), "one thin line");
  assert.equal(await row("end t000001").locator(".drawing").isVisible(), false);
  await row("end t000001").locator(".turn-line").click();
  await row("end t000001").locator(".drawing .stream").first().waitFor();
  await until(async () => await page.locator("#state").innerText() === "completed", "completed");
});

test("before the first message: what a turn works with, examples, recent sessions by directory", async () => {
  const own = await fakeServer();
  const made = (id, text, { dir, trivial, day = 0 } = {}) => {
    const f = own.film(id);
    Object.assign(f, { dir, trivial, at: Date.UTC(2026, 4, 20 - day, 12) });
    f.turn(text);
    f.interrupted();
    f.close();
  };
  made("s-a", "Rename the package");
  made("s-b", "Write the release notes", { dir: "/home/ada/crane" });
  for (const n of [1, 2, 3]) made(`s-hi-${n}`, "hi", { trivial: true, day: 1 });
  made("s-hi-4", "hello", { trivial: true, day: 2 });
  const { page, context, check } = await open(browser, own.url);
  await page.locator(".facts").getByText("anthropic/claude-x").waitFor();
  assert.match(await page.locator(".facts").innerText(), /Directory\s+\/home\/ada\/harbor\s+Model\s+anthropic\/claude-x\s+Permission\s+asks before edits, commands sandboxed in this directory/);
  assert.deepEqual(await page.locator(".recent h3").allInnerTexts(), ["/home/ada/harbor", "/home/ada/crane"]);
  await page.locator(".recent").getByText("Write the release notes").waitFor();
  // Three of one day are one row, in both lists; one alone is itself.
  for (const list of [".recent", "#session-list"]) {
    assert.equal(await page.locator(`${list} .day`).count(), 1, list);
    assert.match(await page.locator(`${list} .day`).innerText(), /^3 without work, /);
    await page.locator(list).getByText("hello").waitFor();
    assert.equal(await page.locator(list).getByText("hi", { exact: true }).first().isVisible(), false);
  }
  await page.locator("#session-list .day").click();
  await page.locator("#session-list").getByText("hi", { exact: true }).first().waitFor();
  await page.fill("#search", "hi");
  await until(async () => await page.locator("#session-list .day").count() === 0, "a search folds nothing");
  await page.getByRole("group", { name: "Examples" }).getByRole("button").nth(1).click();
  assert.match(await page.inputValue("#box"), /^Run the tests/);
  check();
  await context.close();
  await own.stop();
});

scene("a review: side by side, comments on lines become one message, by keyboard", async ({ page, film, sent }) => {
  harbor(film);
  await page.locator(".turn-line").last().waitFor();
  await page.keyboard.press("Alt+c");
  await page.locator("#changes .cell.add").first().waitFor();
  assert.equal(await page.locator("#changes .cell.del").count(), 3);
  assert.equal(await page.locator("#changes .review-row.two").count(), 0);
  // To the first line that was added, and a comment on it.
  for (let n = 0; n < 30; n++) {
    await page.keyboard.press("j");
    if (/line 21, added/.test(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? ""))) break;
  }
  await page.keyboard.press("Enter");
  await page.keyboard.type("Name the loop.");
  await page.keyboard.press("Control+Enter");
  await page.locator(".comment").getByText("Name the loop.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.className), "gutter number", "the focus is back on the line");
  // A comment survives another layout.
  await page.getByRole("radio", { name: "Side by side" }).check({ force: true });
  await page.locator("#changes .review-row.two").first().waitFor();
  await page.locator(".comment").getByText("Name the loop.").waitFor();
  await page.getByRole("button", { name: /^Comment on line 22, removed/ }).click();
  await page.keyboard.type("x");
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("#changes").isVisible(), "Esc leaves the comment, not the review");
  await page.keyboard.press("Escape");
  await page.locator("#changes").waitFor({ state: "hidden" });
  await page.keyboard.press("Alt+c");
  const removed = page.getByRole("button", { name: /^Comment on line 22, removed/ });
  await removed.click();
  assert.equal(await page.getByLabel(/^Comment on .*, line 22$/).inputValue(), "x", "what was written is still there");
  await page.getByRole("button", { name: "Cancel" }).click();
  await removed.click();
  assert.equal(await page.getByLabel(/^Comment on .*, line 22$/).inputValue(), "", "Cancel discards it");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Send 1 comment" }).click();
  await until(() => sent("POST", "/inputs").length === 1, "sent");
  assert.equal(sent("POST", "/inputs")[0].body.text, "Comments on your changes:\n\ninternal/harbor/lock.go:21\n> \tfor h.held {\nName the loop.");
  assert.equal(sent("POST", "/interrupt").length, 0);
});

scene("the plan stays above the box while a turn works on it", async ({ page, film, row }) => {
  const plan = (...status) => {
    const call = film.ready("plan", { plan: ["Look", "Change", "Test"].map((step, n) => ({ step, status: status[n] })) });
    film.runs(call, "plan");
    film.end(call, { output: "ok" });
  };
  const seen = () => page.locator("#plan").innerText().then((s) => s.replace(/\s+/g, " ").trim());
  film.turn("Work");
  film.attempt();
  assert.equal(await page.locator("#plan").isVisible(), false);
  plan("completed", "in_progress", "pending");
  await until(async () => await seen() === "Plan, 1 of 3 done: Change Look Change Test", "the plan");
  await page.locator("#plan button").click();
  assert.equal(await seen(), "Plan, 1 of 3 done: Change");
  plan("completed", "completed", "in_progress");
  await until(async () => await seen() === "Plan, 2 of 3 done: Test", "stays closed");
  await page.locator("#plan button").click();
  plan("completed", "completed", "completed");
  await until(async () => await seen() === "Plan, 3 of 3 done", "one line when it is done");
  film.attemptEnds();
  film.completes();
  await row("end t000001").waitFor();
  await until(async () => !await page.locator("#plan").isVisible(), "gone with the turn");
  film.turn("More");
  film.attempt();
  await row("turn t000002").waitFor();
  assert.equal(await page.locator("#plan").isVisible(), false);
});

scene("the output of a command has its colours", async ({ page, film, row }) => {
  film.turn("Test");
  film.attempt();
  const call = film.runs(film.ready("shell", { command: "go test" }), "go test");
  film.delta(call, "\u001b[1;31mFAIL\u001b[0m harbor\n<img src=x onerror=alert(1)>\u001b[32mok\u001b[0m\n", "output");
  await row(`item ${call}`).locator(".disclosure").click();
  await row(`item ${call}`).locator(".output .ansi-1.ansi-bold").getByText("FAIL").waitFor();
  assert.equal(await row(`item ${call}`).locator(".output").innerText(), "FAIL harbor\n<img src=x onerror=alert(1)>ok\n");
});

test("the overview has all sessions and their children, live, and tells who asks", async () => {
  const own = await fakeServer();
  const [a, b, c] = ["s-a", "s-b", "s-c"].map((id) => own.film(id));
  a.turn("Fix the lock");
  a.attempt();
  a.childEntries = [{ id: "c-1", parent: "s-a", title: "Look at the tests", state: "running" }, { id: "c-2", parent: "c-1", title: "Run them", state: "closed", outcome: "completed" }];
  b.turn("Write the notes");
  b.turnEnds("turn.failed", { error: { name: "ProviderError", message: "overloaded" } });
  c.turn("Tidy up");
  c.turnEnds("turn.completed", {});
  const { page, context, check } = await open(browser, own.url, {});
  await page.addInitScript(() => {
    window.told = [];
    window.Notification = class { static permission = "granted"; static async requestPermission() { return "granted"; } constructor(title) { window.told.push(title); } close() {} };
  });
  await page.reload();
  await page.click("#overview-link");
  const group = (name) => page.locator(`#overview [data-group="${name}"]`);
  await group("running").getByText("Fix the lock").waitFor();
  await group("failed").getByText("Write the notes").waitFor();
  await group("others").getByText("Tidy up").waitFor();
  assert.equal(await group("running").locator(".tree ul ul").innerText().then((s) => s.replace(/\s+/g, " ")), "Run them completed");
  assert.equal(await page.locator("#box").isVisible(), false);
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.getByRole("button", { name: "Notifications on" }).waitFor();
  a.asks(a.ready("shell", { command: "make" }), { tool: "shell", title: "make" });
  await group("asking").getByText("Fix the lock").waitFor();
  await until(() => page.evaluate(() => window.told.length > 0), "told");
  assert.deepEqual(await page.evaluate(() => window.told), ["settle asks: Fix the lock"]);
  Object.assign(b, { elsewhere: "running" });
  await group("running").getByText("running elsewhere").waitFor();
  Object.assign(b, { elsewhere: "waiting" });
  await group("asking").getByText("asks elsewhere").waitFor();
  c.heldCalls = 1;
  await group("asking").getByText("1 held call").waitFor();
  await page.locator("#session-list a", { hasText: "Tidy up" }).getByText("1 held call").waitFor();
  await page.locator("#overview").getByText("Fix the lock").click();
  await page.waitForSelector(".approval");
  assert.equal(await page.locator("#overview").isVisible(), false);
  check();
  await context.close();
  await own.stop();
});

scene("an empty message is not sent; Shift Enter makes a line", async ({ page, sent }) => {
  await page.locator("#box").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("  ");
  await page.keyboard.press("Enter");
  await page.keyboard.type("a");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("b");
  assert.equal(await page.inputValue("#box"), "  a\nb");
  assert.equal(sent("POST", "/inputs").length, 0);
});

scene("approving, denying with words, and being late", async ({ page, film, row, sent }) => {
  film.turn("Edit");
  film.attempt();
  const [one, two, three] = [1, 2, 3].map(() => film.ready("edit", { path: "lock.go" }));
  const p1 = film.asks(one, { tool: "edit", title: "lock.go", why: "the policy is ask", detail });
  film.asks(two, { tool: "edit", title: "second" });
  const p3 = film.asks(three, { tool: "edit", title: "third" });
  await page.waitForSelector(".approval >> nth=2");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".approval")), null, "a card takes no focus");
  const card = page.locator(`[data-approval="${p1}"]`);
  assert.match(await card.innerText(), /asks for approval[\s\S]*the policy is ask[\s\S]*\+5/);
  assert.equal(await card.locator(".diff .add").count(), 5);
  await card.getByRole("button", { name: "Allow once", exact: true }).click();
  await card.waitFor({ state: "detached" });
  assert.deepEqual(sent("POST", `/approvals/${p1}`)[0].body, { verdict: "approved" });

  const second = page.locator(".approval").first();
  await second.getByRole("button", { name: "Deny\u2026" }).click();
  await page.keyboard.type("rather not");
  await page.keyboard.press("Enter");
  await until(async () => await page.locator(".approval").count() === 1, "one is left");
  assert.deepEqual(sent("POST", "/approvals/p000002")[0].body, { verdict: "denied", message: "rather not" });
  film.end(two, { status: "failed", output: "denied" });
  await row(`item ${two}`).getByText("denied from the web page").waitFor();

  // Somebody else answers while this page is about to: it is told so, and nothing runs.
  film.on.approval = () => assert.fail("a late answer counted");
  for (const r of film.readers) r.cork();
  film.answered(p3, "denied", {}, "api");
  await page.locator(".approval").getByRole("button", { name: "Allow for the session" }).click();
  await page.getByText("Already answered: denied").waitFor();
  for (const r of film.readers) r.uncork();
  await until(async () => await page.locator(".approval").count() === 0, "the card goes");
});

scene("a command is changed before it runs, or explained first", async ({ page, film, row, sent }) => {
  film.turn("Run");
  film.attempt();
  const [one, two] = [1, 2].map((n) => film.ready("shell", { command: `make ${n}`, timeout: 5 }));
  film.asks(film.ready("edit", { path: "lock.go" }), { tool: "edit", title: "lock.go" });
  film.asks(one, { tool: "shell", title: "make 1" });
  film.asks(two, { tool: "shell", title: "make 2" });
  await page.waitForSelector(".approval >> nth=2");
  assert.equal(await page.locator('[data-approval="p000001"]').getByRole("button", { name: "Edit the command" }).count(), 0, "an edit has no command");
  const card = page.locator('[data-approval="p000002"]');
  await card.focus();
  await page.keyboard.press("c");
  const field = card.getByLabel("Command");
  assert.equal(await field.inputValue(), "make 1");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Edit the command\u2026");
  await page.keyboard.press("Enter");
  await field.fill("make -n 1");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  assert.equal(await field.inputValue(), "make -n 1", "Esc keeps what was written");
  await page.keyboard.press("Enter");
  await card.waitFor({ state: "detached" });
  assert.deepEqual(sent("POST", "/approvals/p000002")[0].body, { verdict: "approved", arguments: '{"command":"make -n 1","timeout":5}' });
  await page.locator('[data-approval="p000003"]').focus();
  await page.keyboard.press("e");
  await until(async () => await page.locator(".approval").count() === 1, "one is left");
  assert.deepEqual(sent("POST", "/approvals/p000003")[0].body, { verdict: "denied", explain: true });
  film.end(two, { status: "failed", output: "denied" });
  await row(`item ${two}`).getByText("denied until the model explains the effects from the web page").waitFor();
});

scene("an approval shows the whole call, and what the session's would cover; odd details do no harm", async ({ page, film }) => {
  film.turn("Run");
  film.attempt();
  const lines = Array.from({ length: 400 }, (_, n) => `      touch file-${n}`);
  const text = ["shell", "  command:", ...lines, "  in: /tmp", "  step by step:", "      [ask] sh \u27e8U+202E\u27e9"].join("\n");
  film.asks(film.ready("shell", { command: "x" }), { tool: "shell", title: "touch file-0 \u2026", why: "2 of 3 ask", text, covers: "this command in this directory" });
  film.asks(film.ready("write", {}), { tool: "write", title: "x", text: "write\n  path: x\n  content: secret", detail: { files: [{ path: "x", kind: "update", cut: true, added: 0, removed: 0 }] } });
  film.asks(film.ready("edit", {}), { tool: "edit", title: "lock.go", text: "edit lock.go, \u27e8U+202E\u27e9", detail });
  for (const odd of [null, 7, "text", [1], { command: "only" }, { command: 1, commands: 1 }, { files: [null] }]) {
    film.asks(film.ready("odd", {}), { tool: "odd", title: "odd", detail: odd });
  }
  await page.waitForSelector(".approval >> nth=9");
  const said = (n) => page.locator(".approval .command").nth(n).textContent();
  assert.equal(await said(0), `${text}\n`);
  await page.getByText("also allows this command in this directory.").waitFor();
  assert.match(await said(1), /content: secret/);
  assert.match(await said(2), /\u27e8U\+202E\u27e9/, "a diff that hides something is shown in words as well");
});

scene("a call that can be allowed only once has no answer for the session, also by its key", async ({ page, film, sent }) => {
  film.turn("Run");
  film.attempt();
  film.asks(film.ready("shell", { command: "make" }), { tool: "shell", title: "make", text: "shell\n  command:\n      make", covers: "no other call: it can change", once: true });
  const card = page.locator(".approval");
  await card.getByText("An approval covers no other call: it can change.").waitFor();
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  assert.equal(await card.getByRole("button", { name: "Allow for the session" }).count(), 0);
  await card.press("s");
  await card.press("y");
  await until(() => sent("POST", "/approvals/").length > 0, "the answer");
  assert.deepEqual(sent("POST", "/approvals/").map((r) => r.body.verdict), ["approved"]);
});

scene("an interrupt cuts, holds what waits, and the next message takes it along", async ({ page, film, row, sent, text }) => {
  const { run } = underWay(film);
  await page.waitForSelector(".approval");
  assert.match(await page.locator(".waiting").innerText(), /Queued\s+Then tag it/);
  let answer;
  film.on.interrupt = (body) => new Promise((done) => { answer = () => done(body.hurry ? {} : film.interrupted()); });
  await page.getByRole("button", { name: "Interrupt", exact: true }).click();
  await page.getByRole("button", { name: "Hurry" }).waitFor();
  answer();
  await row("end t000001").waitFor();
  assert.match(await text("end t000001"), /Interrupted from the web page/);
  assert.match(await text(`item ${run}`), /Interrupted from the web page; effects partial/);
  await row("end t000001").locator(".turn-line").click();
  await row("end t000001").locator(".drawing .mark.interrupted").waitFor();
  assert.ok(await row("end t000001").locator("svg .aborted").count() >= 1, "the picture shows what was cut");
  assert.equal(await page.locator(".approval").count(), 0, "the approval died with its turn");
  await page.locator(".waiting .held").waitFor();
  assert.match(await page.locator(".hint").innerText(), /held input goes/);
  assert.equal(sent("POST", "/interrupt").length, 1);

  const begun = begins(film);
  await page.fill("#box", "Go on");
  await page.keyboard.press("Enter");
  await begun;
  await row("turn t000002").waitFor();
  assert.match(await text("turn t000002"), /Then tag it[\s\S]*Go on/);
});

scene("Esc in a search or in a field of a form does not mean the turn", async ({ page, film, sent }) => {
  film.turn("Ask me");
  film.attempt();
  film.asks(film.runs(film.ready("ask_user", {}), "ask_user"), { tool: "ask_user", form: { message: "Which?", schema: { type: "object", properties: { name: { type: "string" }, color: { type: "string", enum: ["red", "blue"] }, sure: { type: "boolean" } } } } });
  const form = page.locator(".approval");
  await form.getByLabel("name").fill("harbor");
  for (const field of [form.getByLabel("name"), form.getByLabel("color"), form.getByLabel("sure"), form.getByRole("button", { name: "Send" })]) {
    await field.focus();
    await page.keyboard.press("Escape");
  }
  assert.equal(await form.getByLabel("name").inputValue(), "harbor");
  await page.fill("#search", "zz");
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#search"), "", "the search is empty again");
  await page.keyboard.press("Escape");
  assert.equal(sent("POST", "/interrupt").length, 0);
  await page.locator("#box").focus();
  await page.keyboard.press("Escape");
  await until(() => sent("POST", "/interrupt").length === 1, "in the message box it does");
});

scene("a folded output says how much is above, and the text of a question is above its field", async ({ page, film, row }) => {
  film.turn("Count");
  film.attempt();
  const call = film.runs(film.ready("shell", { command: "seq 1 60" }), "seq 1 60");
  film.end(call, { output: `${Array.from({ length: 60 }, (_, n) => n + 1).join("\n")}\n`, exit_code: 0 });
  const peek = row(`item ${call}`).locator(".peek");
  await until(async () => await peek.innerText() === "\u2026 56 lines above\n57\n58\n59\n60", "the count");
  assert.equal(await peek.evaluate((el) => el.scrollHeight <= el.clientHeight), true, "it is shown whole");
  const short = film.runs(film.ready("shell", { command: "seq 1 4" }), "seq 1 4");
  film.end(short, { output: "1\n2\n3\n4\n", exit_code: 0 });
  await until(async () => await row(`item ${short}`).locator(".peek").innerText() === "1\n2\n3\n4", "nothing is above");
  film.asks(film.runs(film.ready("ask_user", {}), "ask_user"), { tool: "ask_user", form: { message: "Tell me", schema: { type: "object", properties: { name: { type: "string", title: "Name", description: "Which name?" } } } } });
  const box = await page.locator(".approval input").boundingBox(), why = await page.locator(".approval .why").boundingBox();
  assert.ok(why.y + why.height <= box.y, "the question is above");
});

scene("an interrupt can make a held call wait again", async ({ page, film, row }) => {
  film.turn("Change it");
  film.attempt();
  await row("turn t000001").waitFor();
  film.held = [{ approval: "h1", item: "i000001", turn: "t000001", tool: "edit", title: "lock.go", dir: "/home/ada/harbor", asked: new Date().toISOString() }];
  film.interrupted();
  await page.locator(".approval").getByRole("button", { name: "Allow it and run it now" }).waitFor();
});

scene("Esc interrupts; a second time it hurries", async ({ page, film, row, sent }) => {
  underWay(film);
  await page.waitForSelector(".approval");
  let done;
  film.on.interrupt = (body) => body.hurry ? (done(film.interrupted()), {}) : new Promise((r) => { done = r; });
  await page.locator("#box").focus();
  await page.keyboard.press("Escape");
  await until(() => sent("POST", "/interrupt").length === 1, "the first");
  await page.keyboard.press("Escape");
  await row("end t000001").waitFor();
  assert.deepEqual(sent("POST", "/interrupt").map((r) => r.body), [{}, { hurry: true }]);
});

scene("what waits can be edited and dropped", async ({ page, film, sent }) => {
  underWay(film);
  film.input("And then?");
  await page.waitForSelector(".waiting li >> nth=1");
  await page.getByRole("button", { name: "Edit: Then tag it" }).click();
  await until(async () => await page.inputValue("#box") === "Then tag it as v0.4.0.", "the text is in the box");
  await page.getByRole("button", { name: "Drop: And then?" }).click();
  await until(async () => !await page.locator(".waiting").isVisible(), "nothing waits");
  assert.deepEqual(sent("DELETE", "/inputs/").map((r) => r.path.split("/").pop()), ["n000002", "n000003"]);
  // What was taken back is not lost with the page.
  await page.reload();
  await until(async () => await page.inputValue("#box") === "Then tag it as v0.4.0.", "the draft");
});

scene("an input that has started cannot be taken back, and stays", async ({ page, film }) => {
  underWay(film);
  await page.getByRole("button", { name: "Drop: Then" }).waitFor();
  for (const r of film.readers) r.cork();
  film.interrupted();
  film.turn("", ["n000002"]);
  await page.getByRole("button", { name: "Drop: Then" }).click();
  await page.getByText("Cannot take the input back: the input is not waiting").waitFor();
  for (const r of film.readers) r.uncork();
});

scene("queue, steer and replace", async ({ page, film, sent }) => {
  underWay(film);
  await page.locator("#composer .modes").waitFor();
  for (const [n, mode] of ["Queue", "Steer", "Replace"].entries()) {
    await page.getByRole("radio", { name: mode }).check({ force: true });
    assert.deepEqual(await page.locator("#composer").getByText(mode, { exact: true }).allInnerTexts(), [mode], "one control has the name");
    assert.equal(await page.locator("#composer .primary").innerText(), "Send");
    await page.fill("#box", `input ${n}`);
    await page.locator("#composer .primary").click();
    await until(() => sent("POST", "/inputs").length === n + 1, mode);
  }
  assert.deepEqual(sent("POST", "/inputs").map((r) => r.body.mode), ["queue", "steer", "replace"]);
  await page.getByText("Steers", { exact: true }).waitFor();
});

scene("pictures go along", async ({ page, film, row, sent }) => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await page.setInputFiles("input[type=file]", [{ name: "a.png", mimeType: "image/png", buffer: png }, { name: "b.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg/>") }]);
  await page.getByText("b.svg was not attached").waitFor();
  await page.getByRole("button", { name: "Remove a.png" }).waitFor();
  await page.fill("#box", "See");
  await page.keyboard.press("Enter");
  await until(() => sent("POST", "/inputs").length === 1, "sent");
  assert.deepEqual(sent("POST", "/inputs")[0].body.images, [{ media_type: "image/png", data: png.toString("base64"), name: "a.png" }]);
  await page.locator(".pictures").waitFor({ state: "hidden" });
  film.tell("input.accepted", { input: "n9", text: "", images: [{ media_type: "image/png", data: png.toString("base64"), name: "a.png" }, { media_type: "image/svg+xml", data: "PHN2Zy8+" }] }, { by: "api" });
  film.turn("", ["n9"]);
  await until(() => row("turn t000001").locator("img").evaluate((i) => i.naturalWidth === 1), "it is shown");
  assert.equal(await row("turn t000001").locator("img").count(), 1);
});

scene("a session that this server does not have open can be opened", async ({ page, film, row }) => {
  film.turn("Elsewhere");
  await row("turn t000001").waitFor();
  // The host died: its log goes on to be read, and ends without an end.
  film.dead = true;
  for (const r of film.readers) r.end("event: closed\ndata: {}\n\n");
  await page.getByRole("button", { name: "Open here" }).waitFor();
  assert.equal(await page.locator("#state").innerText(), "not open here");
  film.on.open = () => {
    film.dead = false;
    film.turnEnds("turn.aborted", { reason: "crashed" });
    film.tell("session.recovered", { message: "the host died", ended: 1 }, { by: "host" });
    film.tell("session.opened", { settle: "0.1.0", dir: "/home/ada/harbor" }, { by: "host" });
  };
  await page.getByRole("button", { name: "Open here" }).click();
  await row("end t000001").getByText("Crashed").waitFor();
  await page.getByText("Recovered: the host died; ended 1 open item").waitFor();
  await page.locator("#elsewhere").waitFor({ state: "hidden" });
});

scene("one call is cancelled alone; a job is killed", async ({ page, film, row, sent }) => {
  const { run } = underWay(film);
  film.on.cancel = (item) => film.end(item, { status: "aborted", effects: "partial", cause: { outcome: "aborted", reason: "interrupted", by: "web" } });
  await row(`item ${run}`).getByRole("button", { name: "Cancel" }).click();
  await row(`item ${run}`).getByText("Interrupted from the web page").waitFor();
  assert.equal(sent("POST", `/calls/${run}/cancel`).length, 1);
  await page.getByRole("button", { name: "1 job" }).click();
  await page.getByRole("button", { name: "Kill job j000001" }).click();
  await page.getByText("killed, interrupted from the web page").waitFor();
  // Esc closes what lies on top, and does not mean the turn.
  await page.keyboard.press("Escape");
  await page.locator("#jobs").waitFor({ state: "hidden" });
  assert.equal(sent("POST", "/interrupt").length, 0);
});

scene("a reload in the middle of a turn shows the same, at once, and goes on", async ({ page, film, row, text }) => {
  harbor(film);
  film.at = null;
  film.turn("More");
  film.attempt();
  const m = film.start("message");
  film.delta(m, "Before the reload, ");
  await row(`item ${m}`).getByText("Before the reload").waitFor();
  // All but the foot, which counts seconds.
  const said = () => page.locator("#scroller .blocks").innerText();
  const before = await said();
  await page.addInitScript(() => {
    // What the transcript shows, frame by frame.
    window.frames_ = [];
    const look = () => {
      const n = document.querySelectorAll(".row").length, s = document.getElementById("scroller");
      if (n !== window.frames_.at(-1)?.[0]) window.frames_.push([n, s ? Math.round(s.scrollHeight - s.scrollTop - s.clientHeight) : 0]);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.reload();
  await row(`item ${m}`).getByText("Before the reload").waitFor();
  assert.equal(await said(), before);
  film.delta(m, "and after it.");
  await row(`item ${m}`).getByText("Before the reload, and after it.").waitFor();
  const frames = await page.evaluate(() => window.frames_);
  const counts = frames.map((f) => f[0]).filter((n) => n > 0);
  assert.equal(counts.length, 1, `the transcript came in one piece, and stayed: ${JSON.stringify(frames)}`);
  film.end(m);
  film.attemptEnds();
  film.completes();
  await row("end t000002").waitFor();
  assert.match(await text("end t000002"), /Completed/);
});

scene("a connection that breaks is made anew: no gap, no duplicate, no flicker", async ({ page, film, row, sent }) => {
  film.turn("Count");
  film.attempt();
  const m = film.start("message");
  film.delta(m, "0 ");
  await row(`item ${m}`).waitFor();
  await page.evaluate(() => { for (const el of document.querySelectorAll(".row")) el.mark = 1; });
  for (let n = 1; n <= 40; n++) {
    film.delta(m, `${n} `);
    if (n % 10 === 0) {
      const [reader] = film.readers;
      fake.drop();
      await until(() => film.readers.size === 1 && !film.readers.has(reader), "it came back");
    }
  }
  const want = Array.from({ length: 41 }, (_, n) => n).join(" ");
  await until(async () => (await row(`item ${m}`).innerText()).trim() === want, want);
  assert.ok(await page.evaluate(() => [...document.querySelectorAll(".row")].every((el) => el.mark === 1)), "the same elements");
  const again = sent("GET", "/events").slice(1);
  assert.ok(again.length >= 4 && again.every((r) => Number(r.headers["last-event-id"]) > 0), "from the cursor on");
});

scene("offline and back: nothing that was written is lost, and it runs once", async ({ page, context, film, sent }) => {
  await until(() => film.readers.size === 1, "a reader");
  fake.down();
  await context.setOffline(true);
  await page.locator("#link").waitFor();
  assert.match(await page.locator("#link").innerText(), /Not connected/);
  await page.fill("#box", "Written offline");
  await page.keyboard.press("Enter");
  await page.locator(".waiting .unsent").getByText("Not sent").waitFor();
  // The transcript is still there.
  await page.getByText("Opened by serve").waitFor();
  await context.setOffline(false);
  await page.locator("#link").waitFor();
  fake.up();
  await page.getByRole("button", { name: "Try now" }).click({ timeout: 2000 }).catch(() => {});
  await until(() => film.state.waiting.length === 1, "the input arrived");
  await page.getByText("Queued", { exact: true }).waitFor();
  await page.locator("#link").waitFor({ state: "hidden" });
  assert.equal(film.log.filter((e) => e.kind === "input.accepted").length, 1);
  assert.equal(new Set(sent("POST", "/inputs").map((r) => r.body.input)).size, 1);
  assert.equal(await page.evaluate((id) => localStorage.getItem(`settle.unsent.${id}`), film.id), null);
});

scene("what was not sent outlives a reload", async ({ page, film }) => {
  await page.route("**/inputs", (route) => route.abort());
  await page.fill("#box", "Keep me");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent", { exact: true }).waitFor();
  await page.unroute("**/inputs");
  await page.reload();
  await until(() => film.state.waiting.some((i) => i.text === "Keep me"), "it is sent after the reload");
});

scene("a refused input comes back into the box", async ({ page }) => {
  await page.route("**/inputs", (route) => route.fulfill({ status: 413, contentType: "application/problem+json", body: JSON.stringify({ title: "too large", detail: "the input is too large" }) }));
  await page.fill("#box", "Too much");
  await page.keyboard.press("Enter");
  await page.getByText("Not accepted: the input is too large").waitFor();
  assert.equal(await page.inputValue("#box"), "Too much");
});

scene("a log that lost its end is read anew", async ({ page, film, row }) => {
  film.turn("A");
  film.attempt();
  const m = film.say("Lost by the disk.");
  await row(`item ${m}`).waitFor();
  // The server comes back with less than this page has seen.
  film.log.length = film.lines.length = 1;
  const { Film } = await import("./fake.mjs");
  Object.assign(film, { state: new Film(fake, film.id).state, counts: {}, attemptId: "" });
  film.turn("B");
  fake.drop();
  await row("turn t000001").getByText("B", { exact: true }).waitFor();
  assert.equal(await page.locator("#scroller").getByText("Lost by the disk.").count(), 0);
});

scene("a session that was closed is opened by sending", async ({ page, film, row }) => {
  film.close();
  await page.getByText("Closed", { exact: false }).first().waitFor();
  await until(async () => await page.locator("#state").innerText() === "closed", "closed");
  const begun = begins(film);
  await page.fill("#box", "Again");
  await page.keyboard.press("Enter");
  await begun;
  await row("turn t000001").waitFor();
});

scene("what is in force is asked for when a session is opened again, and when a turn has another model", async ({ page, film, row }) => {
  const where = (words) => until(async () => (await page.locator("#where").innerText()).includes(words), words);
  film.settings = { model: "anthropic/claude-x", effort: "" }; // as of a session that the server cannot open
  film.close();
  await where("anthropic/claude-x");
  await until(async () => !(await page.locator("#where").innerText()).includes("asks before edits"), "the closed session's settings");
  film.settings = { model: "anthropic/claude-y", effort: "", permission: "ask", permission_words: WORDS };
  let begun = begins(film);
  await page.fill("#box", "Again");
  await page.keyboard.press("Enter");
  await begun;
  await where("anthropic/claude-y \u00b7 asks before edits");
  film.attemptEnds();
  film.completes();
  film.settings = { ...film.settings, model: "anthropic/claude-x" }; // changed by another client
  begun = begins(film);
  await page.fill("#box", "And again");
  await page.keyboard.press("Enter");
  await begun;
  await row("turn t000002").waitFor();
  await where("anthropic/claude-x \u00b7 asks before edits");
});

scene("what a failed attempt had said is hidden, and can be seen", async ({ page, film, row, text }) => {
  film.turn("Try");
  film.attempt(1, 1);
  const m = film.say("Half an answer", "message");
  film.attemptEnds({ outcome: "failed", error: { name: "ProviderError", kind: "truncated", message: "the response was cut" }, retry_in_ms: 500, discarded: [m] });
  film.attempt(1, 2);
  const n = film.say("The whole answer");
  await row(`item ${n}`).waitFor();
  assert.equal(await row(`item ${m}`).isVisible(), false);
  assert.match(await text("attempt a000001"), /Attempt 1 failed: truncated: the response was cut. Retried after/);
  await page.getByRole("button", { name: "Show its output (1 item)" }).click();
  await row(`item ${m}`).waitFor({ state: "visible" });
  film.attemptEnds({ outcome: "failed", error: { name: "TerminalRetryExhaustedError", message: "no more", attempt: 2, retry_limit: 1 } });
  film.turnEnds("turn.failed", { error: { name: "TerminalRetryExhaustedError", kind: "truncated", message: "the response was cut", url: "https://api.example.com", body: "<html>", attempt: 2, retry_limit: 1 } });
  await row("end t000001").waitFor();
  assert.match(await text("end t000001"), /Failed[\s\S]*truncated: the response was cut[\s\S]*TerminalRetryExhaustedError[\s\S]*The conversation is kept/);
});

scene("a reader who scrolled up is not moved while more comes", async ({ page, film, row }) => {
  film.attempt(2, 1);
  const m = film.start("message");
  const box = page.locator("#scroller");
  await box.hover();
  await page.mouse.wheel(0, -900);
  await page.locator(".latest").waitFor();
  const place = () => page.evaluate(() => {
    const rows = [...document.querySelectorAll("#scroller .row")], top = document.getElementById("scroller").getBoundingClientRect().top;
    const el = rows.find((r) => !r.hidden && r.getBoundingClientRect().bottom > top + 5);
    return [el.dataset.key, Math.round(el.getBoundingClientRect().top)];
  });
  const before = await place();
  for (let n = 0; n < 30; n++) film.delta(m, `Line ${n} of more text that comes.\n\n`);
  await row(`item ${m}`).getByText("Line 29").waitFor({ state: "attached" });
  assert.deepEqual(await place(), before);
  await page.locator(".latest").click();
  await row(`item ${m}`).getByText("Line 29").waitFor();
  for (let n = 30; n < 60; n++) film.delta(m, `Line ${n} of more text that comes.\n\n`);
  await until(() => page.evaluate(() => {
    const s = document.getElementById("scroller");
    return s.innerText.includes("Line 59") && s.scrollHeight - s.scrollTop - s.clientHeight < 3;
  }), "the end stays in sight");
}, { prepare: (film) => {
  film.turn("Write");
  film.attempt();
  for (let n = 0; n < 30; n++) film.say(`Paragraph ${n} of what was said before, long enough to fill a line or two of the window.`);
  film.attemptEnds();
} });

test("sessions: the list, a new one, going from one to another, one that is not there", async () => {
  const [a, b] = [fake.film("list-a"), fake.film("list-b")];
  harbor(a);
  b.at = null;
  b.turn("Second session");
  const { page, context, check } = await open(browser, fake.url);
  await page.getByText("Ask settle to do something").waitFor();
  await page.locator("#session-list").getByText("Second session").click();
  await page.locator('[data-key="turn t000001"]').getByText("Second session").waitFor();
  assert.equal(await page.locator("#session-list [aria-current]").innerText().then((s) => s.split("\n")[0]), "Second session");
  await page.locator("#session-list").getByText("TestAcquire hangs").first().click();
  await page.locator('[data-key="end t000001"]').waitFor();
  assert.equal(await page.getByText("Second session").count(), 1, "only in the list");
  await page.locator("#search").fill("sec SESSION");
  assert.equal(await page.locator("#session-list li").count(), 1);
  await page.locator("#search").fill("");
  await page.click("#more");
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.locator("#ask-text").fill("The harbor");
  await page.keyboard.press("Enter");
  await page.locator("#session-list [aria-current]").getByText("The harbor").waitFor();
  await page.click("#more");
  await page.getByRole("menuitem", { name: "Fork" }).click();
  await page.locator('[data-key="turn t000001"]').getByText("Copied").waitFor();
  await page.click("#more");
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.click("#more");
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete session" }).click();
  await page.getByText("Ask settle to do something").waitFor();
  assert.equal(await page.locator("#session-list").getByText("Copied").count(), 0);
  await page.locator("#session-list").getByText("The harbor").click();
  await page.locator('[data-key="end t000001"]').waitFor();
  await page.locator("#session-list").getByText("Second session").click();
  await page.locator('[data-key="turn t000001"]').getByText("Second session").waitFor();
  await page.goBack();
  await page.locator('[data-key="end t000001"]').waitFor();
  await page.locator("#session-list").getByText("Second session").click();
  await page.locator('[data-key="turn t000001"]').getByText("Second session").waitFor();
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByText("Ask settle to do something").waitFor();
  await page.goto(`${fake.url}#/s/missing`);
  await page.getByText("Session not found").waitFor();
  // The last session is shown when the page is opened without one.
  await page.goto(`${fake.url}#/s/list-b`);
  await page.locator('[data-key="turn t000001"]').getByText("Second session").waitFor();
  await page.goto("about:blank");
  await page.goto(fake.url);
  await page.locator('[data-key="turn t000001"]').getByText("Second session").waitFor();
  check();
  await context.close();
});

test("without a token there is a way to sign in: with a link, or a token", async () => {
  fake.film("sign-in-film").turn("Behind the door");
  const { page, context, check } = await open(browser, `${fake.url}#/s/sign-in-film`, { signedOut: true });
  const asked = fake.requests.length;
  await page.getByRole("heading", { name: "Sign in to settle" }).waitFor();
  assert.equal(await page.locator("nav").isVisible(), false);
  const give = async (what) => { await page.fill("#sign-in-token", what); await page.keyboard.press("Enter"); };
  await give("http://127.0.0.1:1/");
  await page.getByText("This is not a link with a token, and not a token.").waitFor();
  assert.equal(fake.requests.length, asked, "nothing is asked for without a token");
  await give("a wrong one".replaceAll(" ", "-"));
  await page.getByText("The server does not accept this token.").waitFor();
  await give(`  ${fake.url}#token=${fake.token}\n`);
  await page.locator('[data-key="turn t000001"]').getByText("Behind the door").waitFor();
  assert.match(page.url(), /#\/s\/sign-in-film$/);
  await page.reload();
  await page.locator('[data-key="turn t000001"]').getByText("Behind the door").waitFor();
  // Another tab has to sign in itself.
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByRole("heading", { name: "Sign in to settle" }).waitFor();
  await other.fill("#sign-in-token", fake.token);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.locator('[data-key="turn t000001"]').getByText("Behind the door").waitFor();
  // A server that was started anew has another token; its link works in the same tab.
  fake.token = "another-token-0123456789";
  await page.getByText("The server no longer accepts this tab's token.").waitFor();
  await page.goto(`${fake.url}#token=${fake.token}`);
  await page.locator('[data-key="turn t000001"]').getByText("Behind the door").waitFor();
  assert.doesNotMatch(page.url(), /token/);
  assert.ok(fake.requests.every((r) => !r.path.includes("token") && !r.headers.cookie && !r.headers.referer?.includes("token")), "the token goes into the header only");
  assert.deepEqual(await context.cookies(), []);
  fake.token = token;
  check();
  await context.close();
});

scene("what goes wrong is told until it is dismissed, or is well again", async ({ page, film }) => {
  film.turn("Elsewhere");
  for (const r of film.readers) r.end(`event: problem\ndata: ${JSON.stringify({ status: 500, detail: "the disk is gone" })}\n\n`);
  await page.getByText("Cannot read more: the disk is gone").waitFor();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.locator("#problem").waitFor({ state: "hidden" });
});

scene("a session that takes no input here says why, and does not let one send", async ({ page, film, sent }) => {
  const send = page.getByRole("button", { name: "Send" });
  await page.getByText(/Not available here: it works in .\/elsewhere/).waitFor();
  assert.ok(await send.isDisabled());
  await page.fill("#box", "do it");
  await page.keyboard.press("Enter");
  film.refuses = "";
  await until(async () => !await send.isDisabled(), "it can be sent when the reason is gone");
  assert.equal(sent("POST", "/inputs").length, 0);
  assert.equal(await page.inputValue("#box"), "do it", "what was written is kept");
}, { prepare: (film) => { film.refuses = "it works in \"/elsewhere\""; } });

scene("the last turns are read first, earlier ones when they are wanted, and the place stays", async ({ page, film, row, sent }) => {
  const read = () => sent("GET", "/events").map((r) => Number(r.headers["last-event-id"]));
  await row("turn t000100").waitFor();
  assert.equal(await page.locator('[data-key="turn t000080"]').count(), 0);
  assert.ok(read()[0] > film.log.length * 0.7, `it reads from ${read()[0]} of ${film.log.length}`);
  const more = page.getByRole("button", { name: "Show earlier turns (80)" });
  await more.scrollIntoViewIfNeeded();
  const top = () => page.locator('[data-key="turn t000081"]').evaluate((el) => el.getBoundingClientRect().top);
  const before = await top();
  await more.click();
  await page.getByRole("button", { name: "Show earlier turns (20)" }).waitFor({ state: "attached" });
  await until(async () => Math.abs(await top() - before) < 80, "the place stays");
  film.turn("And now?");
  film.completes();
  await page.getByRole("button", { name: "Latest" }).click();
  await row("end t000101").waitFor();
}, { prepare: (film) => { for (let n = 0; n < 100; n++) { film.turn(`Question ${n + 1}`); film.attempt(); film.say(`Answer ${n + 1}, at some length. `.repeat(20)); film.attemptEnds(); film.completes(); } } });

scene("sessions say how they ended", async ({ page, film }) => {
  const state = () => page.locator("#state").innerText();
  film.turn("One");
  film.turnEnds("turn.failed", { error: { name: "X", kind: "status", message: "no" } });
  await until(async () => await state() === "failed", "failed");
  film.turn("Two");
  film.interrupted();
  await until(async () => await state() === "interrupted", "interrupted");
  film.turn("Three");
  film.completes();
  film.close();
  await until(async () => await state() === "completed", "completed");
  await page.locator(`#session-list a[aria-current] .state`, { hasText: "completed" }).waitFor();
});

scene("a log that cannot be read is told, and not asked for over and over", async ({ page, film, row, sent }) => {
  film.turn("Elsewhere");
  await row("turn t000001").waitFor();
  const asked = sent("GET", "/events").length;
  for (const r of film.readers) r.end(`event: problem\ndata: ${JSON.stringify({ status: 500, detail: "the disk is gone" })}\n\n`);
  await page.getByText("Cannot read more: the disk is gone").waitFor();
  await page.evaluate(() => new Promise((r) => { setTimeout(r, 1200); }));
  assert.equal(sent("GET", "/events").length, asked);
});

scene("a key that is held down answers one approval and no more", async ({ page, film, sent }) => {
  film.turn("Edit");
  film.attempt();
  for (const title of ["first", "second", "third"]) film.asks(film.ready("edit", { path: title }), { tool: "edit", title });
  await page.waitForSelector(".approval >> nth=2");
  const focused = () => page.evaluate(() => document.activeElement.closest(".approval")?.dataset.approval);
  await page.keyboard.press("Alt+a");
  await page.keyboard.press("Tab");
  for (const [key, left, next] of [["Enter", 2, "p000002"], ["a", 1, "p000003"]]) {
    await page.keyboard.down(key);
    await until(async () => await page.locator(".approval").count() === left && await focused() === next, `${key}: the next one has the focus`);
    for (let n = 0; n < 5; n++) await page.keyboard.down(key); // it repeats
    await page.keyboard.up(key);
    await page.evaluate(() => fetch("/api/sessions")); // what a repetition would have sent has come
    assert.equal(sent("POST", "/approvals/").length, 3 - left, key);
  }
  // Somebody else answers: the keys do not pass to another card.
  film.asks(film.ready("edit", { path: "fourth" }), { tool: "edit", title: "fourth" });
  await page.waitForSelector(".approval >> nth=1");
  film.answered("p000003", "denied", {}, "api");
  await until(async () => await page.locator(".approval").count() === 1, "it goes");
  assert.equal(await focused(), undefined);
});

scene("by keyboard alone: send, approve, look, interrupt", async ({ page, film, row, sent }) => {
  const begun = begins(film);
  await page.keyboard.press("/");
  await page.keyboard.type("Go");
  await page.keyboard.press("Enter");
  await begun;
  const call = film.ready("shell", { command: "make" });
  const other = film.ready("shell", { command: "date" });
  const p = film.asks(call, { tool: "shell", title: "make" });
  const q = film.asks(other, { tool: "shell", title: "date" });
  await page.waitForSelector(".approval >> nth=1");
  await page.keyboard.press("Alt+a");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until(() => sent("POST", `/approvals/${p}`).length === 1, "approved with Tab and Enter");
  await until(() => page.evaluate((id) => document.activeElement.closest(".approval")?.dataset.approval === id, q), "the focus is on the next");
  await page.keyboard.press("s");
  await until(() => sent("POST", `/approvals/${q}`).length === 1, "approved with a letter");
  assert.equal(sent("POST", `/approvals/${q}`)[0].body.verdict, "approved_session");
  film.runs(other, "date");
  film.end(other, { output: "today" });
  film.runs(call, "make");
  film.delta(call, "cc -o harbor\n", "output");
  await until(() => page.evaluate(() => document.activeElement.id === "box"), "the focus did not fall into nothing");
  // Leave the box, walk to the call, open it.
  for (let n = 0; n < 3; n++) await page.keyboard.press("Shift+Tab");
  await page.evaluate(() => document.activeElement.blur());
  for (let n = 0; n < 4; n++) {
    await page.keyboard.press("k");
    if (await page.evaluate(() => document.activeElement.dataset.key) === `item ${call}`) break;
  }
  assert.equal(await page.evaluate(() => document.activeElement.dataset.key), `item ${call}`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await row(`item ${call}`).locator("dd").getByText("make").waitFor();
  // The picture opens, and tells its parts.
  await page.locator(".foot .turn-line").focus();
  await page.keyboard.press("Enter");
  await until(async () => { // it may just be drawn anew
    await page.locator(".picture").focus();
    await page.keyboard.press("End");
    return /make|date/.test(await page.locator(".picture-note").innerText());
  }, "the part in words");
  await page.keyboard.press("Escape");
  await row("end t000001").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(sent("POST", "/interrupt").length, 1, "Esc closed the list of keys");
  // Everything that can be clicked can be reached, and has a name.
  const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, textarea, [tabindex='0']")]
    .filter((el) => el.checkVisibility() && !(el.getAttribute("aria-label") || el.innerText || el.labels?.[0]?.innerText || el.title)).map((el) => el.outerHTML));
  assert.deepEqual(nameless, []);
});

test("on 360 pixels nothing sticks out, light and dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const film = fake.film(`narrow-${colorScheme}`);
    harbor(film);
    cutShort(film);
    underWay(film);
    const { page, context, check } = await open(browser, `${fake.url}#/s/${film.id}`, { viewport: { width: 360, height: 740 }, colorScheme });
    await page.waitForSelector(".approval");
    const out = () => page.evaluate(() => [...document.querySelectorAll("body *")].filter((el) => {
      if (!el.checkVisibility({ visibilityProperty: true }) || el.closest(".diff, pre, .wide, svg, .unseen, .skip")) return false;
      const r = el.getBoundingClientRect();
      return r.width > 0 && r.right > 360.5;
    }).map((el) => el.outerHTML.slice(0, 120)));
    assert.deepEqual(await out(), []);
    // The buttons that answer are in sight.
    for (const b of await page.locator(".approval .answers button").all()) {
      const r = await b.boundingBox();
      assert.ok(r.y > 0 && r.y + r.height < 740, "in sight");
    }
    await page.click("#menu");
    await page.locator("#session-list a").first().waitFor();
    await page.keyboard.press("Escape");
    for (const [hash, there] of [["#/", ".examples"], ["#/overview", ".cards a"]]) {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.locator(there).first().waitFor();
      assert.deepEqual(await out(), [], hash);
      assert.equal(await page.locator("#scroller").evaluate((el) => el.scrollTop), 0, "from the beginning");
    }
    await page.goto(`${fake.url}#/s/${film.id}`);
    await page.waitForSelector(".approval");
    await page.click("#more");
    await page.getByRole("menuitem", { name: "Export" }).waitFor();
    assert.deepEqual(await out(), []);
    // Contrast of text, as WCAG AA has it.
    const weak = await page.evaluate(contrast);
    assert.deepEqual(weak, []);
    check();
    await context.close();
  }
});

scene("model, effort and permission are switched", async ({ page, film, sent }) => {
  await until(async () => (await page.locator("#where").innerText()).includes("anthropic/claude-x \u00b7 asks before edits"), "what is in force");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Model", { exact: true }).selectOption("anthropic/claude-y");
  await page.getByLabel("Effort").selectOption("high");
  await page.getByLabel("read-only").check();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await until(async () => (await page.locator("#where").innerText()).includes("anthropic/claude-y \u00b7 high effort \u00b7 read-only"), "what is in force then");
  assert.deepEqual(sent("POST", "/settings")[0].body, { model: "anthropic/claude-y", effort: "high", permission: "read-only" });
  // A model by its name, and one that there is not; only what changed is sent.
  await page.keyboard.press("Alt+s");
  await page.getByLabel("Model", { exact: true }).selectOption({ label: "Another model\u2026" });
  await page.keyboard.type("nowhere/x");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("nothing was changed").waitFor();
  assert.deepEqual(sent("POST", "/settings")[1].body, { model: "nowhere/x" });
  await page.keyboard.press("Escape");
  await page.locator("#settings").waitFor({ state: "hidden" });
  assert.equal(film.settings.model, "anthropic/claude-y");
  assert.equal(sent("POST", "/interrupt").length, 0);
});

scene("going back shows what it does to files, and asks", async ({ page, film, row, sent }) => {
  film.turn("Change it");
  film.attempt();
  film.say("Done.");
  film.attemptEnds();
  film.completes();
  film.plan = {
    files: [{ path: "a.go", action: "restore" }, { path: "b.go", action: "keep", why: "another program changed it since then" }],
    uncovered: [{ kind: "command", text: "make \u202e" }],
  };
  await row("turn t000001").hover();
  await row("turn t000001").getByRole("button", { name: "Go back" }).click();
  const dialog = page.locator("#rewind");
  await dialog.getByText("a.go").waitFor();
  assert.match((await dialog.innerText()).replace(/\s+/g, " "), /restore a\.go keep b\.go another program changed it since then Not covered.* \$ make \u27e8U\+202E\u27e9/);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.equal(sent("POST", "/rewind").length, 0);
  await row("turn t000001").getByRole("button", { name: "Go back" }).click();
  await dialog.getByRole("button", { name: "Restore 1 file" }).click();
  await page.waitForSelector(`body[data-shown="${film.id}-back"]`);
  assert.deepEqual(sent("POST", "/rewind")[0].body, { input: "t000001" });
  assert.equal(await page.inputValue("#box"), "Change it");
  const undone = "in /data/rewound-1. To undo that, in a shell: settle rewind --undo /data/rewound-1";
  await page.locator("#notice").getByText(`Restored 1 file. What was there before is ${undone}`).waitFor();
});

scene("going back without a file to change", async ({ page, film, row, sent }) => {
  film.turn("Say it");
  film.attempt();
  film.say("Said.");
  film.attemptEnds();
  film.completes();
  film.plan = { files: [], uncovered: [] };
  await row("turn t000001").getByRole("button", { name: "Go back" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("#rewind").getByText("changed no files").waitFor();
  assert.equal(await page.locator("#rewind").getByRole("button", { name: /Restore/ }).count(), 0);
  await page.locator("#rewind").getByRole("button", { name: "Go back" }).click();
  await page.waitForSelector(`body[data-shown="${film.id}-back"]`);
  assert.deepEqual(sent("POST", "/rewind")[0].body, { input: "t000001", keep_files: true });
});

scene("a path after @ is completed", async ({ page, sent }) => {
  fake.paths = ["docs/", "docs/a file.md", "docs/manual.md", "main.go", "\u202eog.niam"];
  const shown = () => page.locator("#paths li").allInnerTexts();
  await page.locator("#box").focus();
  await page.keyboard.type("mail@x look at @");
  await until(async () => (await shown()).length === 5, "all are offered");
  assert.equal((await shown())[4], "\u27e8U+202E\u27e9og.niam");
  await page.keyboard.type("doc");
  await until(async () => (await shown()).length === 3, "those of docs");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#box"), "mail@x look at @docs/");
  await until(async () => (await shown()).length === 3, "what is in the directory");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#box").getAttribute("aria-activedescendant"), "path-1");
  await page.keyboard.press("Tab");
  assert.equal(await page.inputValue("#box"), 'mail@x look at @"docs/a file.md" ');
  assert.deepEqual(await shown(), []);
  // Esc closes the list and nothing else; the message is sent as it stands.
  await page.keyboard.type("and @main");
  await until(async () => (await shown()).length === 1, "one");
  await page.keyboard.press("Escape");
  await until(async () => (await shown()).length === 0, "closed");
  await page.keyboard.type(".g");
  assert.deepEqual(await shown(), []);
  await page.keyboard.type(" @manual");
  await page.locator("#paths li").getByText("docs/manual.md").click();
  assert.equal(await page.inputValue("#box"), 'mail@x look at @"docs/a file.md" and @main.g @docs/manual.md ');
  await page.keyboard.press("Enter");
  await until(() => sent("POST", "/inputs").length === 1, "sent");
  assert.equal(sent("POST", "/interrupt").length, 0);
});

scene("code is in colors, while it grows and after; an unknown language is plain", async ({ page, film, row }) => {
  film.turn("Show");
  film.attempt();
  const m = film.start("message");
  film.delta(m, "```go\n// Run runs.\nfunc Run() { x := \"<b>\" + 12");
  await row("item i000001").locator(".code-keyword").getByText("func").waitFor();
  film.delta(m, " }\n```\n\n```nothing\nfunc x\n```\n");
  film.end(m);
  await until(async () => await row("item i000001").locator("pre").count() === 2, "both");
  const of = (kind) => row("item i000001").locator(`.code-${kind}`).allTextContents();
  assert.deepEqual([await of("comment"), await of("string"), await of("number"), await of("keyword")], [["// Run runs."], ['"<b>"'], ["12"], ["func"]]);
  assert.equal(await row("item i000001").locator("pre").first().textContent(), '// Run runs.\nfunc Run() { x := "<b>" + 12 }');
});

test("on a phone: settings and paths fit, and are in sight", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const film = fake.film(`phone-${colorScheme}`);
    film.turn("Show");
    film.attempt();
    film.say("```go\n// c\nfunc Run() { x := \"s\" + 12 }\n```\n");
    film.attemptEnds();
    film.completes();
    const { page, context, check } = await open(browser, `${fake.url}#/s/${film.id}`, { viewport: { width: 360, height: 740 }, colorScheme, hasTouch: true, isMobile: true });
    fake.paths = ["a/very/long/path/of/a/file/that/does/not/fit/on/a/narrow/screen/at/all.go", ...Array.from({ length: 19 }, (_, n) => `file-${n}.go`)];
    await page.waitForSelector(".code-number");
    assert.deepEqual(await page.evaluate(contrast), []);
    await page.tap("#box");
    await page.keyboard.type("@");
    await page.waitForSelector("#paths li >> nth=19");
    const inSight = async (locator) => {
      const r = await locator.boundingBox();
      assert.ok(r && r.x >= 0 && r.x + r.width <= 360.5 && r.y >= 0 && r.y + r.height <= 740, JSON.stringify(r));
    };
    await inSight(page.locator("#paths"));
    await page.locator("#paths li").first().tap();
    assert.match(await page.inputValue("#box"), /^@a\/very.*all\.go $/);
    assert.equal(await page.evaluate(() => document.activeElement.id), "box");
    await page.tap("#more");
    await page.getByRole("menuitem", { name: "Settings" }).tap();
    await page.getByLabel("read-only").check();
    for (const what of ["#settings", "#setting-model", "#setting-effort"]) await inSight(page.locator(what));
    assert.deepEqual(await page.evaluate(contrast), []);
    await page.getByRole("button", { name: "Change", exact: true }).tap();
    await page.locator("#settings").waitFor({ state: "hidden" });
    assert.equal(film.settings.permission, "read-only");
    check();
    await context.close();
  }
});

/** Runs in the page: texts with too little contrast. */
function contrast() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, n) => s + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (el) => { for (; el; el = el.parentElement) { const c = rgba(getComputedStyle(el).backgroundColor); if (c[3] === 255) return c; } return rgba(getComputedStyle(document.documentElement).backgroundColor); };
  const weak = new Set();
  for (const el of document.querySelectorAll("body *")) {
    if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || el.closest("svg, .unseen, :disabled") || ![...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    let opacity = 1;
    for (let up = el; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
    if (opacity < 0.99) continue; // decoration, and numbers of lines
    const [a, b] = [light(rgba(getComputedStyle(el).color)), light(ground(el))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) weak.add(`${el.className || el.tagName}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return [...weak];
}
