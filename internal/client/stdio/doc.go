// Package stdio is what the faces share that a program drives over its standard
// streams: what ends them, with which exit code, and how what they have to say
// gets out.
//
//	signals, end of input, a reader or parent that is gone ─► Stop
//	Stop ─► Ladder: close with grace ─► drain ─► (again: hurry ─► give up) ─► exit
//	messages ─► Output ─► a goroutine writes them, so that no reader holds up a turn
//	how the last turn ended, and the stops ─► Code, the exit code (C14)
//
// Lines come in through jsonl.Reader, which bounds them. The ladder also ends
// servers over HTTP, with other bounds.
package stdio
