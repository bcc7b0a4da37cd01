// Package contract checks the events of a session against settle's contract:
// everything that started has ended, once, in order, with an honest cause. It shares no
// code with the folding of events, so that it finds the defects of folding. Read
// check.go first.
//
// [Check] is for complete logs; [Checker] has options: a log that is still being written,
// a bound for interrupts, secrets that must not occur. Other tests prove the clauses that
// a log cannot show: C6 by the strict model server of modeltest, C8 by real processes,
// most of C4, C7, C15 and C17 by both.
//
//	events ─► session ─► inputs ─► turn ─► attempts ─► items ─► approvals, jobs, children
//	             each keeps its open entities and reports violations
//
// Other files:
//
//   - session.go: opening, closing, envelopes and cursors
//   - input.go: each input runs or is dropped once
//   - turn.go: one ending for each turn
//   - attempt.go: retries are announced and bounded
//   - item.go: items end once; order of deltas
//   - approval.go: approvals and who answers them
//   - held.go: verdicts about held calls, and what runs for them
//   - hook.go: runs of hooks and their refusals
//   - job.go: endings of jobs and child agents
//   - prefix.go: which prefix of requests may change
package contract
