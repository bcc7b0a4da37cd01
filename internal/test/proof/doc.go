// Package proof holds whole sessions against the contract: it plays a [Script]
// (what the model streams, what tools do, what people send, when something
// breaks) with the real session, turn, history, journal and wire formats, under
// virtual time and against the strict model server, and reports each violation.
//
//	text ─ Parse ─► Script ─ Play ─► Report: events, problems
//	  ▲               │
//	  └── String ─────┘   a failing script is shrunk and printed; paste it into a test
//
// A session is played like this:
//
//	process 1 ── crash, close ──► process 2 ── … ──► last one closed ──► probes
//	     └─ one disk, which keeps exactly the writes before a crash
//
// Each probe opens the session once more and prompts it, on each wire format in turn.
// The prompt must succeed after any script. docs/proof.md explains the proof. Read
// script.go first, then world.go.
package proof
