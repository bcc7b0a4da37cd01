// Package transcript is what a face shows of a session: its log, told as things
// that start, grow and end.
//
//	events ─► event.Fold ─► Change: an item, turn, attempt, input, approval, job …
//	                          │     and the state of the session at that event
//	                          ▼
//	message    started ─► grew* ─► ended ─► committed | discarded
//	tool call  started ─► grew* ─► ready ─► committed ─► running ─► grew* ─► ended
//
// [Follow] yields the changes of an open session from a cursor on, [Replay] those
// of a stored log, and [Transcript.Take] those of one event, for a face with a loop
// of its own. They are the same changes. [Entries] is a turn as it stands, for
// a face that shows what was said before.
//
// A later attempt may say anew what a failed one said (C13). An item is committed
// when that cannot happen any more, and discarded when it does. A face that can
// redraw shows text as it comes ([Live]) and takes back what is discarded. One
// that cannot has each item held until it is committed ([Final]).
//
// The package derives nothing that event.Fold does, and knows no protocol. What a
// tool call is to a person, toolview says: see [Change.Call].
package transcript
