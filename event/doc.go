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
package event
