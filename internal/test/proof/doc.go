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
//
// Other files:
//
//   - process.go: one host of the session, until it ends
//   - play.go: plays a script and reports
//   - scenario.go: the model's answers
//   - verdict.go: checks what happened against the contract
//   - subscriber.go: a reader that follows the session
//   - moves.go: what clients do
//   - doer.go: the tool
//   - plan.go: what a call does
//   - faults.go: faults of the model's server
//   - executor.go: the other machine
//   - hooks.go: hooks of a process
//   - panics.go: boundaries behind which code can panic
//   - children.go: child agents
//   - disk.go: records that outlive crashes
//   - reviewer.go: reviewers of calls, as scripted or drawn
//   - plan_mode.go: the plan mode of a process
//   - held.go: answers held calls after each crash
//   - logs.go: records in a real store
//   - witness.go: keeps requests and checks their prefixes
//   - wires.go: wire formats and their providers
//   - draw.go: draws sessions by a seed
//   - draw_more.go: draws children and other machines
//   - catalogue.go: the list of turns that are interrupted and crashed
//   - parse.go: reads scripts
//   - words.go: words of a script
//   - print.go: writes scripts
package proof
