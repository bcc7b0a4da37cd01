// Words for people: durations, numbers, endings.

import { answers, endings } from "./terms.js";

export function duration(ms) {
  if (!(ms > 0)) return "0 s";
  if (ms < 950) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")} min`;
}

/** A point on an axis: short, and exact. */
export function tick(ms) {
  if (ms < 1000 && ms > 0) return `${ms / 1000} s`;
  if (ms < 60_000) return `${ms / 1000} s`;
  const s = ms / 1000;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : `${s / 60} min`;
  return `${s / 3600} h`;
}

export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`;
}

export function short(n) {
  if (n < 1000) return String(n);
  if (n < 99_950) return `${(n / 1000).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 999_500) return `${(n / 1e3).toFixed(n < 9950 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(1)} MB`;
}

/** How long ago, roughly. */
export function ago(ms) {
  const min = Math.floor(ms / 60_000);
  if (min < 1) return "now";
  if (min < 60) return `${min} min`;
  if (min < 1440) return `${Math.floor(min / 60)} h`;
  return count(Math.floor(min / 1440), "day");
}

/** Reasons that say more than their term. */
const reasons = { replaced: "replaced by a new input", limit: "a limit was reached", parent: "its parent was cancelled" };

const limits = { steps: "the step limit", time: "the time limit", tokens: "the token limit", cost: "the cost limit", repeats: "the repeat limit" };

const effects = {
  none: "it never started", partial: "no processes are left", unknown: "it is unknown what it did",
};

/** Words as the start of a sentence. */
export const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

const byWords = (client) => client === "web" ? "from the web page" : `by ${client}`;

/** Why something ended before its time, such as "interrupted from the web page". */
export function causeWords(cause) {
  if (!cause) return "";
  let out = cause.error ? errorWords(cause.error) : reasons[cause.reason] ?? endings[cause.reason] ?? cause.reason ?? endings[cause.outcome] ?? cause.outcome;
  if (cause.reason === "limit" && cause.limit) out = `${limits[cause.limit] ?? cause.limit} was reached`;
  if (cause.by && (cause.reason === "interrupted" || cause.reason === "replaced" || cause.reason === "shutdown")) out += ` ${byWords(cause.by)}`;
  if (cause.message) out += `: ${cause.message}`;
  return out;
}

/** A failure in one line. */
export function errorWords(error) {
  if (!error) return "";
  // Most messages say the status themselves.
  const what = [error.kind?.replaceAll("_", " "), error.status].filter((w) => w && !error.message?.includes(w)).join(" ");
  return what && error.message ? `${what}: ${error.message}` : what || error.message || error.name;
}

/** A silence of the model: "model silent for 45 s, cut after 3 min". */
export function silenceWords(s) {
  const whole = (ms) => tick(Math.floor(ms / 1000) * 1000);
  return `${s.answered ? "model silent" : "no answer"} for ${whole(s.for)}${s.limit ? `, cut after ${whole(s.limit)}` : ""}`;
}

export function effectsWords(value) {
  return value ? `effects ${value}: ${effects[value] ?? ""}`.replace(/: $/, "") : "";
}

/** Whether one of the approvals, those of a turn, denied the call. */
export const denied = (approvals, i) => i.status === "failed"
  && approvals.some((a) => a.call === i.id && a.ended?.verdict === "denied" && !a.form && !a.child);

/** How many calls of a turn failed, and how many were denied, such as ", 1 call failed, 2 calls denied". */
function failedWords(turn) {
  const calls = turn.items.filter((i) => i.type === "tool_call" && i.status === "failed" && !i.discarded);
  const no = calls.filter((i) => denied(turn.approvals, i)).length;
  const words = (n, how) => n ? `, ${count(n, "call")} ${how}` : "";
  return words(calls.length - no, endings.failed) + words(no, answers.denied[1]);
}

/** How a turn ended, as a heading: "Completed", "Completed, 2 calls failed". */
export function turnWords(turn) {
  const c = turn.cause;
  if (!c && turn.interrupt) return "Interrupting";
  if (!c) return turn.approvals.some((a) => !a.ended) ? "Waiting for you" : "Running";
  if (c.outcome === "completed") return sentence(endings.completed) + failedWords(turn);
  if (c.outcome === "failed") return sentence(endings.failed);
  return sentence(causeWords(c));
}

/** How a session stands of which nothing runs, such as "failed": by how its last turn ended. */
export function endingWords(outcome, reason) {
  if (outcome === "aborted") return endings[reason] ?? "aborted";
  return endings[outcome] ?? "";
}

/** How a form ended, by the verdict. */
const formAnswers = { approved: "answered", denied: "declined", aborted: "not answered, and the turn stopped" };

/** How an approval that has ended was answered, such as "allowed once" or "allowed once, edited". */
export function answeredWords(a) {
  const { verdict, explain, arguments: edited, policy } = a.ended;
  if (verdict === "expired") return "not answered";
  if (a.form) return policy ? "not answered: no person could be asked" : formAnswers[verdict] ?? verdict;
  return (answers[explain ? "explain" : verdict]?.[1] ?? verdict) + (edited ? ", edited" : "");
}

/** The beginning of a scope that is one file. */
const CHANGE = "every later change of ";

/**
 * Why settle asks; empty for a reason that only repeats the name of the call's file. As asker.Reason in Go, which
 * scopeWords also follows.
 */
export const reasonWords = (a) => a.why && !ofOneFile(a, "it writes ", a.why) ? a.why : "";

/** What an approval for the session covers, without the name of the call's file. */
export const scopeWords = (a) => a.covers && ofOneFile(a, CHANGE, a.covers) ? `${CHANGE}this file` : a.covers ?? "";

/** Whether words are a beginning and the name of the only file that the call creates or updates. */
function ofOneFile(a, beginning, words) {
  const name = words.slice(beginning.length);
  if (!words.startsWith(beginning) || !["write", "edit", "apply_patch"].includes(a.tool) || name.includes(" -> ")) return false;
  const files = (a.text ?? "").split("\n").filter((line) => /^ {2}(create|update|delete|move) .*:$/.test(line));
  return files.length === 1 && (files[0] === `  create ${name}:` || files[0] === `  update ${name}:`);
}

/** How an approval ended, such as "allowed once from the web page after 3.1 s". */
export function approvalWords(a) {
  if (!a.ended) return "waiting for an answer";
  const long = duration(a.endedAt - a.at);
  if (a.ended.verdict === "expired") return `not answered in ${long}: the ${a.background ? "agent" : "turn"} ended first`;
  let out = answeredWords(a);
  if (a.ended.policy) out += ` by policy ${a.ended.policy}`;
  else if (a.endedBy) out += ` ${byWords(a.endedBy)}`;
  out += ` after ${long}`;
  if (a.ended.message && !a.ended.explain) out += `: ${a.ended.message}`;
  return out;
}

/** The process outside of this server that has a session open, as "settle sessions" names it. */
export const hostWords = (host) => host.pid ? `pid ${host.pid}${host.kind ? ` (${host.kind})` : ""}` : "a process that cannot be seen from here";

/** How a job ended. */
export function jobWords(j) {
  if (!j.ended) return "running";
  let out = j.ended.how;
  if (j.ended.exit_code !== undefined) out += `, exit code ${j.ended.exit_code}`;
  if (j.ended.cause) out += `, ${causeWords(j.ended.cause)}`;
  if (j.ended.survivors?.length) out += `, could not be ended: ${j.ended.survivors.map((p) => `pid ${p.pid}`).join(", ")}`;
  return out;
}
