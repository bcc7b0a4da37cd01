// Reads logs, one array of events a line, folds each and prints what it came
// to. A test in Go holds this against package event.

import { createInterface } from "node:readline";
import { content, emptyState, fold } from "../assets/fold.js";

/** When something ended; empty while it is open. */
const ended = (ms) => ms ? new Date(ms).toISOString() : "";

function digest(events) {
  const s = emptyState();
  let refused = 0;
  for (const e of events) {
    try { fold(s, e); } catch (err) {
      if (err.name !== "OrderError") throw err;
      refused = e.seq;
      break;
    }
  }
  return {
    refused, seq: s.seq, open: s.open,
    waiting: s.waiting.map((i) => [i.id, i.text, String(i.held)].join(" ")),
    turns: s.turns.map((t) => ({
      id: t.id, ended: ended(t.endedAt), outcome: t.cause?.outcome ?? "", interrupt: t.interrupt?.reason ?? "",
      inputs: t.inputs.map((i) => i.id), attempts: t.attempts.map((a) => [a.id, a.end?.outcome ?? "", ended(a.endedAt), a.inputs.map((i) => i.id).join(",")].join(" ")),
      items: t.items.map((i) => {
        const c = content(i);
        return [i.id, i.attempt, i.type, i.status, i.ready, i.started, i.discarded, i.effects, i.cause?.reason ?? "", c.name ?? "", c.text ?? "", c.arguments ?? "", c.output ?? "", ended(i.endedAt)].join("|");
      }),
      approvals: t.approvals.map((a) => [a.approval, a.call, a.ended?.verdict ?? "", a.endedBy, ended(a.endedAt)].join(" ")),
    })),
    jobs: s.jobs.map((j) => [j.job, j.ended?.how ?? ""].join(" ")),
    children: s.children.map((c) => [c.child, c.item, c.ended?.outcome ?? "", ended(c.endedAt), ...c.approvals.map((a) => `${a.approval}=${a.ended?.verdict ?? ""}`)].join(" ")),
  };
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${JSON.stringify(digest(JSON.parse(line)))}\n`);
