// What the page says about calls, sessions and processes, and what its keys reach, against films.

import assert from "node:assert/strict";
import test from "node:test";
import { open } from "./browser.mjs";
import { fakeServer } from "./fake.mjs";
import { detail, harbor } from "./films.mjs";
import { browser, fake, scene, until } from "./scene.mjs";

const focused = (page, of) => page.evaluate((what) => document.activeElement?.[what] ?? "", of);
const flat = (said) => said.replace(/\s+/g, " ").trim();

/** A server of its own, whose list has only the sessions that f makes. */
function alone(name, f) {
  test(name, async () => {
    const own = await fakeServer();
    const opened = await open(browser, "about:blank");
    try {
      await f({ ...opened, own, show: (hash = "") => opened.page.goto(`${own.url}${hash}`) });
      opened.check();
    } finally {
      await opened.context.close();
      await own.stop();
    }
  });
}

alone("a session in which every turn failed is a failed one: in the overview, and counted in the list", async ({ page, own, show }) => {
  const ends = (id, kind, data) => {
    const f = own.film(id);
    Object.assign(f, { trivial: true, at: Date.UTC(2026, 4, 20, 12) });
    f.turn(`Ask ${id}`);
    f.turnEnds(kind, data);
    f.close();
  };
  for (const id of ["bad-1", "bad-2"]) ends(id, "turn.failed", { error: { name: "ProviderError", message: "no such key" } });
  ends("hi", "turn.completed", {});
  await show("#/overview");
  const failed = page.locator('#overview [data-group="failed"]');
  await failed.getByText("Ask bad-1").waitFor();
  assert.equal(await failed.locator("h2").innerText(), "Failed: 2 sessions");
  assert.match(await page.locator("#overview [role=status]").innerText(), /2 failed/);
  assert.equal(await page.locator("#overview").getByText("Ask hi").count(), 0, "what only greets stays folded");
  assert.match(await page.locator("#session-list .day").innerText(), /^3 without work, 2 failed, /);
});

alone("a new session begins with its first message, and what is written on the start page stays", async ({ page, own, show }) => {
  own.film("old").turn("Before");
  await show("#/s/old");
  await page.locator('[data-key="turn t000001"]').waitFor();
  for (let n = 0; n < 3; n++) {
    await page.keyboard.press("Alt+n");
    await page.locator(".home").waitFor();
    assert.equal(await focused(page, "id"), "box");
  }
  await page.getByRole("button", { name: "New session" }).click();
  await page.keyboard.type("Write the notes");
  await page.reload();
  await until(async () => await page.inputValue("#box") === "Write the notes", "the draft");
  assert.deepEqual([...own.films.keys()], ["old"]);
  await page.locator("#box").focus();
  await page.keyboard.press("Enter");
  await until(() => own.films.get("new-1")?.state.waiting.length === 1, "it opens with the message");
  assert.equal(own.requests.filter((r) => r.method === "POST" && r.path === "/api/sessions").length, 1);
  await page.keyboard.press("Alt+n");
  await page.locator(".home").waitFor();
  assert.equal(await page.inputValue("#box"), "");
});

alone("the next session's model and permission are chosen before it begins", async ({ page, own, show }) => {
  await show();
  await page.locator(".facts").getByRole("button", { name: "anthropic/claude-x" }).click();
  await page.getByRole("heading", { name: "Settings of the next session" }).waitFor();
  await page.getByLabel("Model", { exact: true }).selectOption("anthropic/claude-y");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.locator("#settings").waitFor({ state: "hidden" });
  await page.keyboard.press("Alt+s");
  await page.getByLabel("read-only").check();
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "anthropic/claude-y");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.locator("#settings").waitFor({ state: "hidden" });
  assert.match(flat(await page.locator(".facts").innerText()), /Model anthropic\/claude-y Permission read-only/);
  assert.equal(own.films.size, 0, "nothing is stored for it");
  await page.fill("#box", "Go");
  await page.keyboard.press("Enter");
  await until(() => own.films.get("new-1")?.state.waiting.length === 1, "the message");
  assert.deepEqual([own.films.get("new-1").settings.model, own.films.get("new-1").settings.permission], ["anthropic/claude-y", "read-only"]);
  const order = own.requests.filter((r) => r.method === "POST").map((r) => r.path);
  assert.deepEqual(order, ["/api/sessions", "/api/sessions/new-1/settings", "/api/sessions/new-1/inputs"]);
  // The one after it begins as the server has it.
  await page.keyboard.press("Alt+n");
  await page.locator(".facts").getByRole("button", { name: "anthropic/claude-x" }).waitFor();
});

alone("settings that are refused leave no session, and the message in the box", async ({ page, own, show }) => {
  await show();
  await page.keyboard.press("Alt+s");
  await page.getByLabel("Model", { exact: true }).selectOption({ label: "Another model\u2026" });
  await page.keyboard.type("nowhere/x");
  await page.keyboard.press("Enter");
  await page.locator("#settings").waitFor({ state: "hidden" });
  await page.fill("#box", "Go");
  await page.keyboard.press("Enter");
  await page.getByText("Cannot create a session: there is no provider").waitFor();
  assert.equal(await page.inputValue("#box"), "Go");
  assert.equal(own.films.size, 0);
});

alone("the overview by keyboard: J, K and arrows move over the cards", async ({ page, own, show }) => {
  for (const [n, id] of ["s-a", "s-b", "s-c"].entries()) Object.assign(own.film(id), { at: Date.UTC(2026, 4, 20, 12 - n) }).turn(`Turn ${id}`);
  const [a] = own.films.values();
  await show("#/s/s-a");
  await page.waitForSelector('body[data-shown="s-a"]');
  await page.keyboard.press("Alt+o");
  await page.locator("#overview .cards a").nth(2).waitFor();
  assert.equal(await focused(page, "id"), "overview");
  const at = () => page.evaluate(() => document.activeElement.getAttribute("href"));
  for (const [key, want] of [["j", "#/s/s-a"], ["ArrowDown", "#/s/s-b"], ["j", "#/s/s-c"], ["j", "#/s/s-c"], ["k", "#/s/s-b"], ["ArrowUp", "#/s/s-a"]]) {
    await page.keyboard.press(key);
    assert.equal(await at(), want, key);
  }
  // The focus stays on the session that moves to another group.
  a.attempt();
  a.asks(a.ready("shell", { command: "make" }), { tool: "shell", title: "make" });
  await page.locator('#overview [data-group="asking"]').getByText("Turn s-a").waitFor();
  assert.equal(await at(), "#/s/s-a");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".approval");
  for (const [key, words] of [["Alt+s", "Settings of the next session"], ["Alt+c", "No session is open."]]) {
    await page.keyboard.press("Alt+n");
    await page.locator(".home").waitFor();
    await page.keyboard.press(key);
    await page.getByText(words).waitFor();
    await page.keyboard.press("Escape");
  }
});

scene("a command that the person changed is the one that its row shows, beside the model's", async ({ page, film, row }) => {
  film.turn("Run");
  film.attempt();
  const call = film.ready("shell", { command: "make all" });
  const p = film.asks(call, { tool: "shell", title: "make all" });
  await page.waitForSelector(".approval");
  film.answered(p, "approved", { arguments: '{"command":"make -n"}' });
  film.tell("call.started", { title: "make -n", arguments: '{"command":"make -n"}' }, film.envOf(call));
  film.end(call, { output: "done", effective_arguments: '{"command":"make -n"}' });
  await row(`item ${call}`).getByText("Asked, allowed once, edited from the web page").waitFor();
  assert.match(await row(`item ${call}`).locator(".title").innerText(), /make -n/);
  await row(`item ${call}`).locator(".disclosure").click();
  assert.match(flat(await row(`item ${call}`).locator(".whole").innerText()), /command make -n .*changed.* The model wrote: .*make all/);
});

scene("a question that was answered shows its answers; one that was not says so", async ({ page, film, row }) => {
  const questions = [{ question: "Which database?", header: "Database", options: [{ label: "SQLite" }] }, { question: "Which name?" }];
  const ask = () => {
    const call = film.runs(film.ready("ask_user", { questions }), "questions: Database, Which name?");
    return [call, film.asks(call, { tool: "ask_user", title: "asks you", form: { server: "", message: "", questions, schema: { type: "object", properties: { q1: { type: "string" } } } } })];
  };
  film.turn("Ask");
  film.attempt();
  const [one, first] = ask();
  await page.waitForSelector(".approval");
  film.answered(first, "approved", {}, "user");
  film.end(one, { output: "The user answered: \u2026", detail: { ending: "answered", answers: [["SQLite"], []] } });
  await row(`item ${one}`).getByText("Database \u2192 SQLite").waitFor();
  const said = flat(await row(`item ${one}`).innerText());
  assert.match(said, /Which name\? \u2192 no answer/);
  assert.match(said, /Answered by user after/);
  assert.doesNotMatch(said, /allowed once|The user answered/);
  const [two] = ask();
  await page.waitForSelector(".approval");
  film.interrupted();
  await row(`item ${two}`).getByText(/^Not answered in .*: the turn ended first$/).waitFor();
  assert.doesNotMatch(await row(`item ${two}`).innerText(), /expired/);
});

scene("the card of an edit names the file once, and says why in a sentence", async ({ page, film }) => {
  film.turn("Edit");
  film.attempt();
  const text = "edit\n  update internal/harbor/lock.go:\n      --- a/internal/harbor/lock.go";
  const asks = (data) => film.asks(film.ready("edit", { path: "internal/harbor/lock.go" }), { tool: "edit", title: "edit internal/harbor/lock.go", text, covers: "every later change of internal/harbor/lock.go", detail, ...data });
  asks({ why: "it writes internal/harbor/lock.go" });
  asks({ why: "the policy is ask", text: `${text}\n  leads to: internal/harbor -> /elsewhere` });
  await page.waitForSelector(".approval >> nth=1");
  const said = async (n) => flat(await page.locator(".approval").nth(n).innerText());
  assert.equal((await said(0)).split("lock.go").length - 1, 1, await said(0));
  assert.match(await said(0), /also allows every later change of this file\./);
  assert.match(await said(1), /Asked because the policy is ask/);
  assert.match(await said(1), /leads to: internal\/harbor -> \/elsewhere/);
});

for (const [name, host, banner, line, button] of [
  ["a process that lives", { pid: 4242, kind: "detached" }, /open in pid 4242 \(detached\)/, /^It asks in pid 4242 \(detached\), not here\. Answer it there, with: settle attach /, ""],
  ["a process that this server would take it from", { pid: 4242, kind: "run", takes: true }, /open in pid 4242 \(run\).*Taking it over ends the turn that runs there/, /^It asks in pid 4242 \(run\), not here/, "Take over"],
  ["a process that cannot be seen", { pid: 0 }, /open in a process that cannot be seen from here/, /^It asks in a process that cannot be seen from here/, ""],
  ["a process that died", null, /Its host died\./, /^The process that asked has ended\. Open the session here to continue\./, "Open here"],
]) {
  scene(`a question of ${name} has no buttons that cannot answer it`, async ({ page, film }) => {
    film.turn("Run");
    film.attempt();
    const runs = film.runs(film.ready("shell", { command: "sleep 9" }), "sleep 9");
    film.asks(film.ready("shell", { command: "make" }), { tool: "shell", title: "make", text: "shell\n  command: make" });
    await page.waitForSelector(".approval button");
    film.dead = true;
    Object.assign(film, { host: host ?? undefined, refuses: host && !host.takes ? "another process has it" : "" });
    for (const r of film.readers) r.end("event: closed\ndata: {}\n\n");
    const card = page.locator(".approval");
    await card.locator(".elsewhere").getByText(line).waitFor();
    assert.equal(await card.getByRole("button").count(), 0);
    assert.match(await card.innerText(), /command: make/, "the question stays readable");
    await until(async () => banner.test(await page.locator("#elsewhere").innerText()), `${banner}`);
    const offered = (await page.locator("#elsewhere button:visible").allInnerTexts()).join();
    assert.equal(offered, button);
    assert.equal(await page.locator("#composer .primary").innerText(), "Send");
    if (host?.takes) { // also at first, and while the page looks for new events, and again
      await page.addInitScript(() => {
        window.seen = 0;
        new MutationObserver(() => { window.seen += document.querySelectorAll(".approval button").length; }).observe(document, { childList: true, subtree: true });
      });
      await page.reload();
      await card.locator(".elsewhere").waitFor();
      const asked = () => fake.requests.filter((r) => r.path === `/api/sessions/${film.id}/events?after=0` || r.path.startsWith(`/api/sessions/${film.id}/events`)).length;
      const before = asked();
      await until(() => asked() > before, "it looks for new events");
      film.delta(runs, "more\n", "output");
      await page.locator(`[data-key="item ${runs}"]`).getByText("more").waitFor();
      assert.equal(await page.evaluate(() => window.seen), 0, "no buttons came and went");
    }
    // Nothing else here reaches that process.
    for (const what of [".stop", ".cancel", "#close-session", "#composer .modes"]) assert.equal(await page.locator(what).first().isVisible(), false, what);
    assert.ok(await page.locator(`[data-key="item ${runs}"]`).isVisible());
    await page.keyboard.press("Alt+a");
    assert.ok(await page.evaluate(() => !!document.activeElement.closest(".approval")));
    for (const key of ["a", "y", "d", "Escape"]) await page.keyboard.press(key);
    assert.equal(fake.requests.filter((r) => r.method === "POST" && r.path.startsWith(`/api/sessions/${film.id}/`)).length, 0);
  });
}

scene("the keys are listed over the changes, with the ones of the changes", async ({ page, film }) => {
  harbor(film);
  await page.locator(".turn-line").last().waitFor();
  await page.keyboard.press("Alt+c");
  await page.locator("#changes .cell.add").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  assert.match(flat(await page.locator("#help").innerText()), /N P Next or previous file, in the changes/);
  await page.keyboard.press("Escape");
  await page.locator("#help").waitFor({ state: "hidden" });
  assert.ok(await page.locator("#changes").isVisible());
});

for (const [size, viewport] of [["a screen", { width: 1280, height: 860 }], ["a phone", { width: 360, height: 740 }]]) {
  scene(`the list of keys begins at its beginning, on ${size}`, async ({ page }) => {
    const opened = async () => {
      await page.locator("#help-title").waitFor();
      assert.equal(await page.locator("#help").evaluate((el) => el.scrollTop), 0);
      assert.equal(await page.evaluate(() => !!document.activeElement.closest("#help")), true);
      await page.keyboard.press("Escape");
      await page.locator("#help").waitFor({ state: "hidden" });
    };
    if (viewport.width < 500) await page.click("#menu");
    await page.click("#help-button");
    await opened();
    await page.locator("#scroller").focus();
    await page.keyboard.press("?");
    await opened();
  }, { options: { viewport } });
}

scene("the settings list the plugins", async ({ page }) => {
  fake.plugins = [{ name: "demo", version: "1.2", state: "ok", from: "/home/ada/demo", has: "1 hook, 2 skills" }, { name: "old", state: "unusable", from: "https://x.example/y", has: "1 command", problem: "its copy was changed" }];
  await page.keyboard.press("Alt+s");
  const list = page.locator("#settings .plugins");
  await list.getByText("demo 1.2").waitFor();
  assert.equal(flat(await list.innerText()), "Plugins demo 1.2 1 hook, 2 skills from /home/ada/demo old unusable: its copy was changed 1 command from https://x.example/y");
  fake.plugins = [];
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+s");
  await page.locator("#setting-model option").first().waitFor({ state: "attached" });
  await until(async () => !await list.isVisible(), "no plugins, no list");
});
