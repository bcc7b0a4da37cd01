// Package proof holds whole sessions against the contract: it plays a [Script]
// (what the model streams, what tools do, what people send, when something
// breaks) with the real session, turn, history, journal and wire formats, under
// virtual time and against the strict model server, and says what was broken.
//
//	text ─ Parse ─► Script ─ Play ─► Report: events, problems
//	  ▲               │
//	  └── String ─────┘   what fails is printed, shrunk, and can be pasted into a test
//
// A session is played like this:
//
//	process 1 ── crash, close ──► process 2 ── … ──► last one closed ──► probes
//	     └─ one disk, which keeps what was written before a crash, and no more
//
// Each probe opens the session once more and prompts it, on each wire in turn:
// whatever happened, that must work. docs/proof.md says what this proves.
package proof
