// Package transcript converts the log of a session to changes that a frontend can show:
// things that start, grow and end. Start with change.go and transcript.go.
//
//	events ─► event.Fold ─► Change: an item, turn, attempt, input, approval, job …
//	                          │     and the state of the session at that event
//	                          ▼
//	message    started ─► grew* ─► ended ─► committed | discarded
//	tool call  started ─► grew* ─► ready ─► committed ─► running ─► grew* ─► ended
//
// [Follow] yields the changes of an open session from a cursor on, [Replay] the changes of
// a stored log, and [Transcript.Take] the changes of one event, for a frontend with a loop
// of its own. All three yield the same changes. [Entries] returns the current entries of a
// turn, for a frontend that shows earlier turns.
//
// A later attempt can replace the items of a failed attempt (C13). An item is committed
// when no later attempt can replace it, and discarded when one does. A frontend that can
// redraw shows text at once ([Live]) and removes discarded text. A frontend that cannot
// redraw receives each item when it is committed ([Final]).
//
// The package derives nothing that event.Fold derives, and knows no protocol. Package
// toolview describes tool calls: see [Change.Call]. spent.go writes tokens and cost for all
// frontends; package event adds them up.
//
// Other files:
//
//   - silence.go: a silence of the model in words
//   - changed.go: who changed a call, and what a question was about
//   - denial.go: how a call was denied, for people
//   - entries.go: inputs and items of a turn, in order
//   - follow.go: changes of a session's events, live or stored
//   - item.go: what happens to an item, when its text stays
//   - recovery.go: the text about what opening a session found
//   - worktree.go: where a session's own git worktree is, how to merge it
package transcript
