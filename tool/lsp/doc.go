// Package lsp lets a session use language servers (LSP): after an edit, the model receives
// the new errors, and one tool finds definitions, references and symbols.
//
//	edit ─► Servers.Check ─► server's queue ─► owner goroutine ─► process, in the sandbox
//	          │ waits at most Config.Timeout                        │ publishes diagnostics
//	          ▼                                                     ▼
//	   "2 new errors", "no new errors", "no answer within 5s" ◄─ compared with before
//
// A server starts at the first edit of a file of its language, belongs to the session, and
// ends with it (C7). It never delays an edit beyond the timeout: a silent, crashed or hostile
// server is a note in the call's result. An answer that comes too late is part of the next
// one, because only delivered errors count as known.
//
// Settle never downloads a server: [Installed] finds the programs of [Languages] in the
// folders of PATH that commands cannot change.
//
// Read servers.go first, then server.go, which owns the state of one server.
//
// Other files:
//
//   - language.go: which server serves which files
//   - connection.go: the process of a server, its messages and its end
//   - frame.go: messages with Content-Length as lines of package jsonrpc
//   - protocol.go: the used part of the protocol
//   - check.go: what an edit changed in a server's errors
//   - published.go: the errors that a server published
//   - scan.go: files that changed without the editing tools
//   - navigate.go: the tool for definitions, references and symbols
package lsp
