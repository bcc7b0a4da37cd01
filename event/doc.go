// Package event is the vocabulary that every room of settle speaks: what can
// happen in a session, in which order, and how each thing that started ends.
// It is the leaf of the house and imports nothing of ours.
//
// An [Event] is an envelope (session, sequence number, time, the ids of the
// turn, attempt and item it belongs to) around one [Data], a closed union with
// one Go type a kind. The events of a session, in order, are its log; the log
// is the state. Pure functions say what a log means:
//
//   - [Fold] takes a [State] and the next event to the next state, and refuses
//     an event that breaks the order below.
//   - [Endings] returns the events that end everything a turn still has open,
//     innermost first. It is the only author of forced endings.
//   - [Closings] does the same for a whole session, [AttemptEndings] for one
//     model request and [CallEndings] for one call of a turn that goes on.
//
// What encloses what, and how each ends:
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
// The same, for readers of the JSON, is docs/event.md.
package event
