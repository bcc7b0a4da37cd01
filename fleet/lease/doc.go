// Package lease is the engine for teams that have nothing but Postgres: units are
// rows, and a worker that is alive holds a lease.
//
//	Heartbeat ─► worker.until = now + lease ─► units: queued, or of a worker whose lease is over
//	              (the database's clock)        └─► state running, session.epoch + 1 ─► Attempt
//
// A lease is the worker's, not the unit's: a thousand units cost one small
// transaction a second. That a worker is alive does not say that a unit moves: a
// unit whose log has not grown for [Engine].Stall is given to another worker as
// well. The clock is the database's, so that those of workers may differ.
//
// Units that wait begin by the shares of their tenants. Those who hand them out do so
// one after the other, in short transactions, so that shares and slots are exact.
//
// Of a session, one unit runs at a time, in the order in which they came (C3).
//
// Files:
//
//   - engine.go: opens and closes the engine
//   - beat.go: leases: tasks claimed, renewed, lost
//   - fair.go: which waiting task is next
//   - endings.go: how attempts end, in groups
//   - listen.go: notifications that there is work
//   - tenant.go: tenants and their weights
package lease
