// Package claude lets programs drive settle that were written for the Claude
// Agent SDK: it reads and writes the lines of JSON that the SDK exchanges with
// its executable, and the same for scripts that call it with -p.
//
//	standard input ─► reader ─► driver ─► session     prompts, control requests
//	events ─► encoder ─► lines ─► standard output      what happened, as messages
//
// The driver is one goroutine, which owns what the protocol has to remember:
// the prompts that are not answered yet, and the questions that the client has
// not answered. All else is in the session's events, of which the encoder makes
// messages. Clients see Claude's names and inputs of tools; names.go has the one
// table. The protocol cannot show an input that is held: the session gets one
// prompt at a time, and each has a result of its own.
package claude
