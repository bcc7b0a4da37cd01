// Package endings checks the log of any agent for one promise: everything that starts ends, exactly
// once, with a cause, and before the thing that contains it. It imports nothing of settle, so that
// any harness can be held to it.
//
// A log is a list of [Record]s, in JSON one on each line:
//
//	{"start":"t1","kind":"turn"}
//	{"start":"c1","kind":"call","in":"t1"}
//	{"interrupt":"t1","at":"2026-01-01T10:00:00Z"}
//	{"end":"c1","cause":"interrupted"}
//	{"end":"t1","cause":"interrupted","at":"2026-01-01T10:00:00.2Z"}
//
// [Read] reads these records and, through a [Format], the logs of settle, Codex and Claude Code;
// [Checker] finds violations:
//
//	start ─► open ─► end, once, with a cause
//	           └► what it belongs to must be open, and stays open until it has ended
//
// Files:
//
//   - check.go: which logs break the promise
//   - read.go: formats of logs
//   - settle.go: settle's events
//   - other.go: events of Codex and Claude Code
package endings
