// Package event is the vocabulary of the log: the events of a session, their order,
// and the ending of each entity that started. All other packages use it; it imports
// none of them. Read data.go first, then fold.go.
//
// An [Event] is an envelope (session, sequence number, time, the ids of the
// turn, attempt and item it belongs to) around one [Data], a closed union with
// one Go type a kind. The events of a session, in order, are its log; the log
// is the state. Pure functions interpret a log:
//
//   - [Fold] takes a [State] and the next event to the next state, and refuses
//     an event that breaks the order below.
//   - [Endings] returns the events that end everything a turn still has open,
//     innermost first. It is the only author of forced endings.
//   - [Closings] does the same for a whole session, [AttemptEndings] for one
//     model request and [CallEndings] for one call of a turn that continues.
//
// The entities, their nesting, and their endings:
//
//	session  opened ──────────────────────────────► closed | recovered
//	  input    accepted ─► (held) ─────────────────► taken by a turn | dropped
//	  turn     started ────────────────────────────► completed | aborted | failed
//	    attempt  started ──────────────────────────► ended
//	      item     started ─► delta* ──────────────► ended
//	      call     started ─► delta* ─► ready ─► call.started ─► delta* ─► ended
//	        approval requested ────────────────────► ended
//	        child    started (foreground) ─────────► ended
//	        hook     started ──────────────────────► ended
//	  job, child  started (background) ────────────► ended
//
// docs/reference/events.md describes the same for readers of the JSON.
//
// Other files:
//
//   - event.go: the envelope of events, its version and JSON
//   - kind.go: the kinds of events
//   - decode.go: decodes lines of a log
//   - json.go: JSON as this package writes it
//   - scan.go: reads that exact form fast
//   - state.go: the state that a log folds to; which text is the answer of a turn
//   - fold_turn.go: which events of a turn may follow
//   - undo.go: takes events back from a state
//   - endings.go: the events that end what is open
//   - silence.go: how long the model is silent, and when settle ends that
//   - held.go: which calls are held, and their verdicts
//   - cause.go: outcomes, reasons and causes, in words for people
//   - id.go: the next IDs
//   - permission.go: decisions about calls, and their order
//   - question.go: the default of a question to the user, and how it ended
//   - terms.go: the words for answers, permission modes and endings, the same in every frontend
//   - sandbox.go: levels of confinement, hidden files
//   - resolved.go: where a path of a call led
//   - hook.go: occasions and runs of hooks
//   - child.go: jobs and child agents
//   - signature.go: provider signatures on items
//   - sealed.go: the Kind methods of the data types
//   - usage.go: tokens and costs, and their sums
package event
