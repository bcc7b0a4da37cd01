// Package acp speaks the Agent Client Protocol, version 1, with an editor or
// another client over the standard streams.
//
//	client ──► rpc ──► Handle: prompts and cancels are noted, in order
//	                     │ a lane for each session: load, Submit, set_mode, close …
//	                     ▼
//	client ◄── updates, answers ◄── session.follow ◄── the session's events
//
// The face owns no turn state. Each session that a client has open is followed: its
// events are read in order, and what they mean in the protocol is said: an update, a
// request for permission, or, at the end of a turn, the answer to its prompts. So an
// answer always comes after the last update.
//
// A prompt goes in with an id of its own, and a cancel names the ids of the
// prompts that came before it (C10): it does not matter how far they have got.
// The protocol answers every prompt and has no queue to show. A prompt that an
// interrupt leaves waiting is taken back and answered as cancelled (C19).
//
// https://agentclientprotocol.com has the protocol; its schema is in the npm
// package @agentclientprotocol/sdk, against which the tests hold what is sent.
package acp
