// Package acp speaks the Agent Client Protocol, version 1, with an editor or
// another client over the standard streams.
//
//	client ──► rpc ──► Handle: prompts and cancels are noted, in order
//	                     │ a lane for each session: load, Submit, set_mode, close …
//	                     ▼
//	client ◄── updates, answers ◄── session.follow ◄── the session's events
//
// The frontend owns no turn state. For each open session, follow reads the events in order
// and sends their translation: an update, a request for permission, or, at the end of a
// turn, the answer to its prompts. So an answer always comes after the last update. Read
// server.go first.
//
// Each prompt is submitted with an id of its own, and a cancel names the ids of all
// earlier prompts (C10), in any state. The protocol answers every prompt and cannot show a
// queue: a prompt that still waits after an interrupt is dropped and answered as cancelled
// (C19).
//
// https://agentclientprotocol.com has the protocol; its schema is in the npm
// package @agentclientprotocol/sdk, against which the tests check all messages.
//
// Other files:
//
//   - session.go: creates, resumes and closes sessions
//   - open.go: where and how a session is opened
//   - list.go: the list of sessions
//   - prompt.go: prompts, their answers, cancellation
//   - blocks.go: content blocks of a prompt as text and images
//   - follow.go: events as updates
//   - replay.go: a loaded session from its beginning
//   - item.go: messages and reasoning as updates
//   - call.go: tool calls as updates
//   - diff.go: changes of files as diffs
//   - permission.go: requests for permission and their options
//   - editor.go: files read and written through the client
//   - control.go: modes and options
//   - command.go: slash commands that the client offers
//   - servers.go: MCP servers of the client
//   - wire.go: messages of the protocol
package acp
