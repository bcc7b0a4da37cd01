// Package modeltest is a language model for tests: a [Server] that speaks
// Responses, Messages, Chat Completions and Gemini's API over HTTP, follows a
// script, is as strict about requests as the real providers are, and misbehaves on
// request. It imports nothing of settle, so that any client or agent can be tested
// against it.
//
// A [Scenario] is a list of turns; each valid request takes the next one, in
// any dialect:
//
//	srv := modeltest.NewServer(t, modeltest.Script(
//		modeltest.Reply(modeltest.Think("…"), modeltest.Call("shell", `{"command":"ls"}`)),
//		modeltest.Say("done").With(modeltest.Reset(modeltest.AfterDelta(1)).First(2)),
//	))
//	client := openai.NewClient(option.WithBaseURL(srv.OpenAI()), …)
//
// What becomes of a request:
//
//	came ─► refused by the rules: 400, 401, 404 in the provider's words; no turn is played
//	     └► turn ─► request ─► headers ─► delta* … call … ─► end ─► done
//	                  a fault strikes at any of these places
//	ended: sent | fault | client (it closed the connection) | close (the server did)
//
// [NewMemoryServer] and [NewClient] work without a network and under the
// virtual time of testing/synctest. [Serve] and [ParseScenario] are the same
// for the command line; docs/reference/scenarios.md describes the file.
package modeltest
