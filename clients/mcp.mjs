// Drives "settle mcp" with the protocol's own SDK. The first argument says
// what to do, as JSON; what happens is printed as JSON, one object a line.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const plan = JSON.parse(process.argv[2]);
const say = (kind, value) => console.log(JSON.stringify({ kind, ...value }));

const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: { Authorization: `Bearer ${plan.token}` } } })
  : new StdioClientTransport({ command: plan.command[0], args: plan.command.slice(1), env: process.env, stderr: "inherit" });

const client = new Client({ name: "sdk", version: "1" }, { capabilities: plan.elicit ? { elicitation: {} } : {} });
if (plan.elicit) {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    say("asked", { message: request.params.message });
    return plan.elicit;
  });
}
await client.connect(transport);

let running;
const began = new Promise((resolve) => { running = resolve; });
const call = (name, args, options) => client.callTool({ name, arguments: args ?? {} }, undefined, { timeout: 60000, ...options });
const run = (options) => call("run", { prompt: "go" }, {
  onprogress: (p) => { if (plan.chatty) say("progress", { message: p.message }); if (p.message?.startsWith("running: ")) running(); },
  resetTimeoutOnProgress: true,
  ...options,
});
const result = (what, r) => say(what, { isError: r.isError ?? false, text: r.content[0]?.text, ...r.structuredContent });

const ways = {
  async run() {
    result("result", await run());
  },
  // A request that is aborted, and what became of its turn.
  async cancel() {
    result("idle", await call("interrupt"));
    const wish = new AbortController();
    const answer = run({ signal: wish.signal }).then((r) => say("answered", r), (e) => say("thrown", { message: String(e.message ?? e) }));
    await began;
    const from = performance.now();
    wish.abort("enough");
    await answer;
    const { sessions } = (await call("sessions")).structuredContent;
    for (;;) {
      const now = (await call("status", { session: sessions[0].session })).structuredContent;
      if (now.state === "idle") {
        say("status", { ...now, ms: performance.now() - from });
        break;
      }
    }
    result("idle", await call("interrupt", { session: sessions[0].session }));
  },
  async interrupts() {
    const answer = run();
    await began;
    const from = performance.now();
    const ended = await Promise.all([call("interrupt"), call("interrupt")]);
    for (const r of ended) result("interrupt", r);
    say("took", { ms: performance.now() - from });
    result("result", await answer);
  },
  async hang() {
    run().catch(() => {});
    await began;
    say("running", { server: transport.pid });
    await new Promise(() => setInterval(() => {}, 1000));
  },
};
await ways[plan.what]();
await client.close();
