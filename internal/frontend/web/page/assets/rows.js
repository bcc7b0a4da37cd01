// What a transcript shows, in order, and what an event changes of it.

/**
 * The rows that event e adds to the transcript of s, which has folded it, and
 * the keys of the rows that it changes. A row is {key, kind, of}; `of` is the
 * turn, attempt, item or event that it shows.
 */
export function follow(s, e) {
  const rows = [], touched = [];
  const t = e.turn ? s.turnById.get(e.turn) : null;
  const attempt = () => t?.attempts.find((a) => a.id === e.attempt);
  if (e.item) touched.push(`item ${e.item}`);
  switch (e.kind) {
    case "session.opened":
    case "session.recovered":
    case "session.closed":
      rows.push({ key: `event ${e.seq}`, kind: "session", of: e });
      break;
    case "turn.started":
      rows.push({ key: `turn ${t.id}`, kind: "turn", of: t });
      break;
    case "history.changed":
      if (["left_out", "restored"].includes(e.data.change)) break; // the row of the attempt, or of the turn's end, says it
      rows.push({ key: `change ${e.seq}`, kind: "change", of: e.data });
      break;
    case "attempt.started": {
      const before = t.attempts.at(-2);
      if (before) touched.push(`attempt ${before.id}`);
      if (attempt().inputs.length) rows.push({ key: `joined ${e.attempt}`, kind: "joined", of: attempt() });
      break;
    }
    case "attempt.ended":
      if (e.data.outcome !== "completed") rows.push({ key: `attempt ${e.attempt}`, kind: "attempt", of: attempt() });
      for (const id of e.data.discarded ?? []) touched.push(`item ${id}`);
      break;
    case "item.started":
      if (e.data.type === "summary") break; // what came of it is in history.changed
      rows.push({ key: `item ${e.item}`, kind: "item", of: t.itemById.get(e.item) });
      break;
    case "job.ended": {
      const job = s.jobs.find((j) => j.job === e.data.job);
      if (job?.call) touched.push(`item ${job.call}`);
      break;
    }
    case "child.started":
      if (e.data.call) touched.push(`item ${e.data.call}`);
      break;
    case "child.ended": {
      const child = s.children.find((c) => c.child === e.data.child);
      if (child?.call || child?.item) touched.push(`item ${child.call || child.item}`);
      break;
    }
    case "turn.completed":
    case "turn.aborted":
    case "turn.failed": {
      const last = t.attempts.at(-1);
      if (last) touched.push(`attempt ${last.id}`);
      rows.push({ key: `end ${t.id}`, kind: "end", of: t });
    }
  }
  return { rows, touched };
}
