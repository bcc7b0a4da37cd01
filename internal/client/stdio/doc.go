// Package stdio serves frontends that a program drives over standard streams. It decides
// what ends the process, with which exit code, and how the remaining output is written.
// Start with shutdown.go; stop.go has the causes and exit codes, output.go the writer.
//
//	signal, end of input, lost reader or parent ─► Stop
//	Stop ─► Shutdown: close with grace ─► drain ─► (again: hurry ─► give up) ─► exit
//	messages ─► Output ─► a goroutine writes them, so that no reader delays a turn
//	outcome of the last turn, and the stops ─► Code, the exit code (C14)
//
// jsonl.Reader reads the lines of the input and bounds them. HTTP servers use Shutdown as
// well, with other bounds.
//
// Other files:
//
//   - broken.go: which stop a broken standard output causes
//   - closed_unix.go: whether the reader of an output is gone
//   - exhaust.go: the line for programs about exhausted retries
package stdio
