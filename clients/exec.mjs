// Drives settle with @openai/codex-sdk as a plan says, the first argument, and
// prints what the SDK says: a line of JSON for each event, result and error.
import { Codex } from "@openai/codex-sdk";

const plan = JSON.parse(process.argv[2]);
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");

const codex = new Codex(plan.codex);
const thread = plan.resume ? codex.resumeThread(plan.resume, plan.thread) : codex.startThread(plan.thread);

// when reports whether the turn is to be aborted now.
const when = (abort, event) =>
  abort !== undefined && event.type === abort.event && (abort.item === undefined || event.item?.type === abort.item);

for (const turn of plan.turns) {
  const controller = new AbortController();
  const options = { outputSchema: turn.schema, signal: controller.signal };
  if (turn.abort?.event === "before") controller.abort();
  let aborted;
  try {
    if (turn.stream) {
      const { events } = await thread.runStreamed(turn.input, options);
      for await (const event of events) {
        say({ event });
        if (when(turn.abort, event)) {
          aborted = Date.now();
          controller.abort();
        }
      }
    } else {
      if (turn.abort?.after) setTimeout(() => controller.abort(), turn.abort.after);
      say({ result: await thread.run(turn.input, options) });
    }
    controller.abort(); // nothing runs any more
  } catch (error) {
    say({ error: { name: error.name, message: error.message } });
  }
  say({ thread: thread.id, took: aborted && Date.now() - aborted });
}
