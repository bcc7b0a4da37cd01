import assert from "node:assert/strict";
import test from "node:test";
import { changes, diffLines, looksLikeDiff, pairs, sessionChanges } from "../assets/diff.js";
import { inline, parse, pieces, webAddress } from "../assets/markdown.js";
import { sseParser } from "../assets/sse.js";
import { byFile, reviewMessage } from "../assets/review.js";
import { named, prose, terminal, terminalSpans } from "../assets/visible.js";
import { approvalWords, causeWords, duration, errorWords, reasonWords, scopeWords, short, turnWords } from "../assets/words.js";

/** A tree in short: tags and text. */
const show = (b) => {
  if (typeof b === "string") return b;
  if (Array.isArray(b)) return b.map(show).join("");
  switch (b.t) {
    case "code": return `<code${b.lang ? ` ${b.lang}` : ""}>${b.text}</code>`;
    case "table": return `<table>${[b.head, ...b.rows].map((r) => r.map(show).join("|")).join("/")}</table>`;
    case "ul":
    case "ol": return `<${b.t}${b.start > 1 ? ` ${b.start}` : ""}>${b.c.map((i) => `<li>${show(i)}</li>`).join("")}</${b.t}>`;
    case "a": return `<a ${b.href}>${show(b.c)}</a>`;
    case "heading": return `<h${b.level}>${show(b.c)}</h${b.level}>`;
    case "rule": return "<hr>";
    case "br": return "<br>";
  }
  return `<${b.t}>${show(b.c)}</${b.t}>`;
};

const markdown = {
  "a\nb\n\nc": "<p>a\nb</p><p>c</p>",
  "# One\n## Two ##\n####### no": "<h1>One</h1><h2>Two</h2><p>####### no</p>",
  "*a* **b** ***c*** ~~d~~ _e_ __f__": "<p><em>a</em> <strong>b</strong> <strong><em>c</em></strong> <del>d</del> <em>e</em> <strong>f</strong></p>",
  "snake_case_name 2 * 3 * 4 **open": "<p>snake_case_name 2 * 3 * 4 **open</p>",
  "**a *b* c**": "<p><strong>a <em>b</em> c</strong></p>",
  "`a *b*` ``x ` y``": "<p><code>a *b*</code> <code>x ` y</code></p>",
  "` open": "<p>` open</p>",
  "\\*a\\* \\x": "<p>*a* \\x</p>",
  "a  \nb\\\nc": "<p>a<br>b<br>c</p>",
  "```go\nfunc x() {}\n\n  y\n```\nafter": "<code go>func x() {}\n\n  y</code><p>after</p>",
  "```\nnever closed": "<code>never closed</code>",
  "~~~ sh\n```\n~~~": "<code sh>```</code>",
  "````\n```\n````": "<code>```</code>",
  "- a\n- b\n  - c\n\n    d\n- e": "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p><p>d</p></li></ul></li><li><p>e</p></li></ul>",
  "3. a\n4. b": "<ol 3><li><p>a</p></li><li><p>b</p></li></ol>",
  "- ```\n  - x\n  ```\n- y": "<ul><li><code>- x</code></li><li><p>y</p></li></ul>",
  "> a\n> - b\nc": "<quote><p>a</p><ul><li><p>b\nc</p></li></ul></quote>",
  "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2": "<table>a|b/1|<code>x|y</code>/2|</table>",
  "---\n***": "<hr><hr>",
  "[a](https://x.org/p \"t\") [b](http://y.org)": "<p><a https://x.org/p>a</a> <a http://y.org/>b</a></p>",
  "[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.org) [d](file:///etc)": "<p>[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.org) [d](file:///etc)</p>",
  "[**a** `b`](https://x.org)": "<p><a https://x.org/><strong>a</strong> <code>b</code></a></p>",
  "![alt](https://x.org/i.png)": "<p><a https://x.org/i.png>alt</a></p>",
  "see https://x.org/a_(b). Or <https://y.org>!": "<p>see <a https://x.org/a_(b)>https://x.org/a_(b)</a>. Or <a https://y.org/>https://y.org</a>!</p>",
  "<script>alert(1)</script>": "<p><script>alert(1)</script></p>",
  "<b onclick=x>": "<p><b onclick=x></p>",
  "    code\n\n    more": "<code>code\n\nmore</code>",
};

for (const [text, want] of Object.entries(markdown)) test(`Markdown ${JSON.stringify(text)}`, () => assert.equal(show(parse(text)), want));

test("task lists know what is done", () => {
  const [list] = parse("- [x] a **b**\n- [ ] c\n- [x]d\n- e\n  1. [X] f");
  assert.deepEqual(list.c.map((i) => i.task), ["done", "open", undefined, undefined]);
  assert.equal(show(list), "<ul><li><p>a <strong>b</strong></p></li><li><p>c</p></li><li><p>[x]d</p></li><li><p>e</p><ol><li><p>f</p></li></ol></li></ul>");
  assert.equal(list.c[3][1].c[0].task, "done");
});

test("a diff without hunks, or with wrong counts, has the kinds of its signs", () => {
  const kinds = (text) => diffLines(text).map((l) => l.kind).join(" ");
  assert.equal(kinds("-old\n+new\n same\n"), "del add keep");
  assert.equal(kinds("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n+more\n same\n"), "head head hunk del add add keep");
  assert.deepEqual(diffLines("+new\n"), [{ kind: "add", text: "new" }]);
});

test("only web addresses are linked", () => {
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " https://x", "java\nscript:x", "data:text/html,x", "vbscript:x", "//x.org", "/x", "https:", "http://", "blob:https://x", `https://x/${"a".repeat(3000)}`]) {
    assert.equal(webAddress(bad), "", bad);
  }
  assert.equal(webAddress("HTTPS://x.org"), "https://x.org/");
});

test("pieces of a text that grows are those of the whole", () => {
  const text = "# A\n\nb\nc\n\n- d\n  - e\n\n  f\n\n```go\nx\n\ny\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\nlast *line* with `code`";
  for (let n = 1; n <= text.length; n++) {
    const so = text.slice(0, n);
    const whole = show(parse(so));
    assert.equal(pieces(so).map((p) => show(parse(p.text))).join(""), whole, JSON.stringify(so));
    // Going on from the last block of what there was before gives the same.
    const before = pieces(text.slice(0, Math.max(1, n - 7)));
    const at = before.at(-1)?.at ?? 0;
    const again = [...pieces(text.slice(0, at)), ...pieces(so, at)];
    assert.equal(again.map((p) => show(parse(p.text))).join(""), whole, `from ${at}: ${JSON.stringify(so)}`);
  }
});

const hostile = {
  stars: "*".repeat(50_000), "open emphasis": "*a ".repeat(20_000), brackets: "[".repeat(50_000), "open links": "[a](".repeat(20_000), ticks: "`a ``b ".repeat(10_000),
  quotes: `${">".repeat(5000)} a`, lists: Array.from({ length: 2000 }, (_, n) => `${" ".repeat(n % 60)}- a`).join("\n"), "spaces in a table": `|a|\n|-${" ".repeat(50_000)}x`,
  "a heading of spaces": `# ${" ".repeat(50_000)}x`, fence: `\`\`\`${" ".repeat(50_000)}\``, pipes: `${"|".repeat(50_000)}\n${"|-".repeat(25_000)}`, mixed: "*_`[~".repeat(10_000),
  underscores: "_a_b".repeat(20_000), addresses: "http://a.b(".repeat(10_000), backslashes: "\\".repeat(50_000), "nested emphasis": `${"*a _b ".repeat(5000)}${"_ *".repeat(5000)}`,
};

for (const [name, text] of Object.entries(hostile)) {
  test(`hostile Markdown: ${name}`, () => {
    const begin = performance.now();
    parse(text);
    // Not a measure of speed: what is quadratic here takes minutes.
    assert.ok(performance.now() - begin < 5000);
  });
}

test("inline never loses text", () => {
  const plain = (list) => list.map((c) => typeof c === "string" ? c : c.t === "code" ? c.text : c.c ? plain(c.c) : "").join("");
  for (const text of ["a [b] c", "[a](b", "**a", "*a **b* c**", "[[[[[[[[[[a]]]]]]]]]]", "~~~~", "a ~ b", "<a>", "_", "![x", "![x]"]) {
    const letters = text.replace(/[^a-z]/g, "");
    assert.equal(plain(inline(text)).replace(/[^a-z]/g, ""), letters, text);
  }
});

test("server-sent events, in pieces of any size", () => {
  const text = "\uFEFF: hello\n\nid: 1\nevent: event\ndata: {\"a\":1}\n\nid: 2\r\nevent: event\r\ndata: x\r\ndata: y\r\n\r\ndata:z\rdata\r\revent: only\n\n";
  const want = [["event", "1", "{\"a\":1}"], ["event", "2", "x\ny"], ["message", "2", "z\n"]];
  for (let size = 1; size <= text.length; size++) {
    const got = [];
    const parser = sseParser((e) => got.push([e.event, e.id, e.data]));
    for (let n = 0; n < text.length; n += size) parser(text.slice(n, n + size));
    assert.deepEqual(got, want, `pieces of ${size}`);
  }
});

test("what hides is shown", () => {
  assert.equal(terminal("\u001b[31mred\u001b[0m \u001b]0;title\u0007ok\u001b]8;;http://x\u001b\\link"), "red oklink");
  assert.equal(terminal("10%\r50%\r100%\r\ndone\r\n"), "100%\ndone\n");
  assert.equal(named("rm \u202etxt.\u2066"), "rm ⟨U+202E⟩txt.⟨U+2066⟩");
  assert.equal(named("a\tb\nc"), "a\tb\nc");
  assert.equal(prose("שלום\u200f \u202e"), "שלום\u200f ⟨U+202E⟩");
});

test("colours of terminals become classes, and the text stays what it is", () => {
  const shown = (t) => terminalSpans(t).map((s) => s.style ? `<${s.style}>${s.text}</>` : s.text).join("");
  assert.equal(shown("\u001b[1;31mFAIL\u001b[0m x\u001b[32mok\u001b[39m.\n"), "<ansi-1 ansi-bold>FAIL</> x<ansi-2>ok</>.\n");
  assert.equal(shown("\u001b[38;5;196ma\u001b[38;2;0;0;255mb\u001b[48;5;3mc\u001b[mz"), "<ansi-1>a</><ansi-4>b</><ansi-4 ansi-ground>c</>z");
  assert.equal(shown("10%\r\u001b[32m50%\r100%\r\ndone"), "<ansi-2>100%\ndone</>");
  assert.equal(shown("\u001b]8;;http://x\u001b\\l\u001b[2K\u202e"), "l⟨U+202E⟩");
  // Whatever comes, the text is that of terminal(), and classes are from the list.
  let seed = 7;
  const draw = (n) => (seed = seed * 1103515245 + 12345 & 0x7fffffff) % n;
  const bits = ["a", "b", " ", "\n", "\r", "\r\n", "\u001b[31m", "\u001b[0m", "\u001b[1;4;38;5;99m", "\u001b[38;2;9;9m", "\u001b[", "\u001b]0;t\u0007", "\u001b", "\u202e", "\u001b[999;38m", "<b>"];
  for (let n = 0; n < 2000; n++) {
    const text = Array.from({ length: draw(24) }, () => bits[draw(bits.length)]).join("");
    const spans = terminalSpans(text);
    assert.equal(spans.map((s) => s.text).join(""), terminal(text), JSON.stringify(text));
    for (const s of spans) assert.match(s.style, /^(?:ansi-(?:[1-7]|bold|dim|italic|underline|struck|ground) ?)*$/);
  }
});

test("a review: changes by file, lines side by side, comments as a message", () => {
  const lines = diffLines("@@ -1,3 +1,3 @@\n a\n-b\n-c\n+d\n e\n");
  assert.deepEqual(pairs(lines).map(([l, r]) => `${l?.text ?? ""}|${r?.text ?? ""}`), ["@@ -1,3 +1,3 @@|@@ -1,3 +1,3 @@", "a|a", "b|d", "c|", "e|e"]);
  assert.deepEqual(byFile([{ path: "a", added: 1, removed: 0 }, { path: "b", added: 2, removed: 1 }, { path: "a", added: 3, removed: 3 }]).map((f) => [f.path, f.added, f.removed, f.changes.length]), [["a", 4, 3, 2], ["b", 2, 1, 1]]);
  assert.equal(reviewMessage([{ path: "a.go", line: 3, side: "new", code: "x := 1", text: "Name it." }, { path: "b.go", line: 9, side: "old", code: "y", text: "Why is it gone?" }]),
    "Comments on your changes:\n\na.go:3\n> x := 1\nName it.\n\nb.go:9 (before the change)\n> y\nWhy is it gone?");
});

test("diffs", () => {
  const text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f\n a\n-b\n--- c\n+d\n++ e\n\\ No newline at end of file\n";
  assert.deepEqual(diffLines(text).map((l) => `${l.kind}:${l.text}:${l.new ?? l.old ?? ""}`), [
    "head:--- a/x:", "head:+++ b/x:", "hunk:@@ -1,3 +1,3 @@ f:", "keep:a:1", "del:b:2", "del:-- c:3", "add:d:2", "add:+ e:3", "head:\\ No newline at end of file:",
  ]);
  assert.ok(looksLikeDiff(text) && !looksLikeDiff("@@ no"));
  for (const odd of [null, 1, "x", [], {}, { files: 1 }, { files: [null, 1, {}] }]) assert.deepEqual(changes(odd), []);
  assert.deepEqual(changes({ files: [{ path: "a", diff: 1, added: "x" }] }), [{ path: "a", from: "", kind: "", diff: "", cut: false, added: 0, removed: 0 }]);
});

test("words", () => {
  assert.deepEqual([0, 40, 949, 950, 12_345, 59_949, 59_951, 125_000, 3_720_000].map(duration), ["0 s", "40 ms", "949 ms", "0.9 s", "12.3 s", "59.9 s", "1 min 00 s", "2 min 05 s", "1 h 02 min"]);
  assert.deepEqual([999, 1200, 99_949, 99_951, 1_250_000].map(short), ["999", "1.2k", "99.9k", "100k", "1.3M"]);
  assert.equal(causeWords({ outcome: "aborted", reason: "interrupted", by: "web" }), "interrupted from the web page");
  assert.equal(causeWords({ outcome: "aborted", reason: "limit", limit: "time", message: "after 30 min" }), "the time limit was reached: after 30 min");
  assert.equal(errorWords({ kind: "overloaded", status: 529, message: "overloaded" }), "529: overloaded");
  assert.equal(approvalWords({ at: 0, endedAt: 3100, endedBy: "web", ended: { verdict: "denied", message: "not now" } }), "denied from the web page after 3.1 s: not now");
});

test("a denied call is no failed one", () => {
  const call = (id) => ({ type: "tool_call", id, status: "failed" });
  const approval = (id, verdict, more) => ({ call: id, ended: { verdict }, ...more });
  const turn = { cause: { outcome: "completed" }, items: ["a", "b", "c", "d"].map(call), approvals: [
    approval("a", "denied"), approval("b", "approved"), approval("c", "denied", { form: {} }),
    approval("d", "denied", { child: "x" }),
  ] };
  assert.equal(turnWords(turn), "Completed, 3 calls failed, 1 call denied");
  assert.equal(turnWords({ ...turn, items: [call("a")] }), "Completed, 1 call denied");
});

test("the changes of a session are those of calls that were made, in order", () => {
  const call = (status, path) => ({ type: "tool_call", status, content: { detail: { files: [{ path, kind: "update", diff: "@@ -1 +1 @@" }] } } });
  const state = { turns: [{ items: [{ type: "message", status: "completed", content: {} }, call("completed", "a"), call("failed", "b")] }, { items: [call("completed", "c"), call("open", "d")] }] };
  assert.deepEqual(sessionChanges(state).map((f) => f.path), ["a", "c"]);
});

// The cases are those of TestQuestionNamesFileOnce in package asker.
test("a question names its file once", () => {
  const writes = "it writes a", change = "every later change of ";
  for (const [tool, text, why, covers, reason, scope] of [
    ["write", "write\n  create a.txt:", "it writes a.txt", `${change}a.txt`, "", `${change}this file`],
    ["edit", "edit\n  update .git/config:", "it writes .git/config, which git obeys", "the same call", "it writes .git/config, which git obeys", "the same call"],
    ["write", "write\n  create a/b:\n  leads to: a -> c", "it writes a/b -> c/b", `${change}a/b -> c/b`, "it writes a/b -> c/b", `${change}a/b -> c/b`],
    ["edit", "edit\n  update a:\n      +a", writes, `${change}a`, "", `${change}this file`],
    ["edit", "edit\n  update b:\n      --- a/b\n      +create a:", writes, `${change}a`, writes, `${change}a`],
    ["apply_patch", "apply_patch\n  update a:\n      +x\n  create b:\n      +y", writes, undefined, writes, ""],
    ["x", "x\n  path: a.txt", "it writes a.txt", undefined, "it writes a.txt", ""],
    ["shell", "shell", "the policy is ask", undefined, "the policy is ask", ""],
    ["write", undefined, undefined, undefined, "", ""],
  ]) {
    const a = { tool, text, why, covers };
    assert.deepEqual([reasonWords(a), scopeWords(a)], [reason, scope], `${text}: ${why}`);
  }
});
