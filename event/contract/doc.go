// Package contract holds settle's contract against the events of a session:
// that everything that started has ended, once, in order, with an honest
// cause. It reads the log as a stranger would and shares no code with the
// folding of events, so that it finds what folding gets wrong.
//
// [Check] is for logs at rest; [Checker] has what differs: a log that is still
// being written, a bound on interrupts, secrets to look for. Clauses that a
// log cannot show are proved elsewhere: C6 by the strict model server of
// modeltest, C8 by real processes, most of C4, C7, C15 and C17 by both.
//
//	events ─► session ─► inputs ─► turn ─► attempts ─► items ─► approvals, jobs, children
//	             each keeps what is open, and says what does not fit
package contract
