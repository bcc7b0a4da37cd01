// Package temporal is the engine for teams that run Temporal: an attempt at a unit is
// an attempt at a standalone activity, whose id is the unit's.
//
//	Submit ─► unit (Postgres) ─► StartActivityExecution ─► Temporal ─► PollActivityTaskQueue ─► Attempt
//	           in order, as room       ▲                                    claim: session.epoch + 1
//	           comes free              └── heartbeat timeout: the next attempt ◄── worker dies
//
// Temporal says that an attempt is due: when a unit begins, when its worker is silent,
// when an attempt is given back. Postgres says what is true: what the units are, their
// order within a session (C3), who may write a log, and how units ended. So a result
// counts only if the log has it, whatever Temporal believes; and if Temporal loses what
// it knew, the units are started there again.
//
// Only what can soon run is in Temporal. The others wait in Postgres, so that what a
// dead worker has left never waits behind a long queue.
//
// Files:
//
//   - engine.go: options and connection
//   - member.go: which tasks a worker takes from Temporal
//   - beat.go: claims, heartbeats and orders
//   - answer.go: how an attempt's end reaches Temporal
//   - sweep.go: tasks that Temporal does not know; retries
package temporal
