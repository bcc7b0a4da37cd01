// Package claude lets programs drive settle that were written for the Claude
// Agent SDK: it reads and writes the lines of JSON that the SDK exchanges with
// its executable, and the same for scripts that call it with -p.
//
//	standard input ─► reader ─► driver ─► session     prompts, control requests
//	events ─► encoder ─► lines ─► standard output      what happened, as messages
//
// Read driver.go first. The driver has a part for each of its tasks:
//
//	driver.go   lines of the client, by their type; mailbox.go: functions for its goroutine
//	queue.go    prompts and their order; results.go: results of turns, and what waits for them
//	open.go     the session and its options; follow.go: the session's events
//	control.go  control requests; toggle.go: servers off and on; slash.go: commands
//	ask.go      questions to the client; inquire.go: the model's questions
//	rules.go    rules that the client agreed to; hooks.go: its hooks
//	servers.go  MCP servers of the client; call.go: requests to the client
//	encoder.go  events as messages; message.go, partial.go, result.go, below.go: their kinds
//	output.go   both outputs; ending.go: stops, exit code, the end; unread.go: a client that stalls
//	options.go  flags; input.go, decode.go, lines.go: the lines; names.go: names of tools
//
// The driver is one goroutine, which owns what the protocol has to remember: the prompts that are
// not answered yet, and the questions that the client has not answered. Everything else is in the
// session's events, which the encoder turns into messages. Clients see Claude's names and inputs of
// tools; names.go has the table. The protocol cannot show an input that is held: the session gets
// one prompt at a time, and each has a result of its own.
//
// A result has the cost and tokens of the session's own turns: result.go sums their attempts.
// Spending of children is in the log's event of a child's end.
package claude
