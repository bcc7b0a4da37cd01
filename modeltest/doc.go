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
// Read server.go and scenario.go first. scenario.go, script.go and fault.go decide the content of a
// turn and its faults. The files named check decide whether a request is valid. The file of each
// wire format makes the bytes of a response.
//
//	server.go, handler.go  addresses, the journey of a request; pipe.go: without a network
//	scenario.go, script.go turns of a scenario, and which one a request takes; parse.go: the file
//	fault.go, play.go      kinds of faults, and where an answer meets them
//	render.go, stream.go   a turn as frames; whole.go: as one object; wire.go: as bytes
//	responses.go, messages.go, chat.go, gemini.go
//	                       the stream of each wire format; toolsearch.go: searches of tools
//	recording.go           answers that were recorded at a provider
//	check.go               keys, models, and whether a request fits the window;
//	                       check_responses.go, check_messages.go, check_chat.go and
//	                       check_gemini.go: requests of each wire format; check_image.go, check_document.go,
//	                       check_schema.go, check_search.go, check_toolsearch.go: their parts
//	rules.go, provider.go  strictness and sizes; rules of single providers, with their sources
//	apierror.go, reject.go refusals in each provider's words; refusals that a test orders
//	issued.go, signature.go what the server has sent and must receive unchanged
//	cache.go               prompt caches; cache_anthropic.go, cache_openai.go: the rules of each
//	record.go, control.go  what came in, for tests and over HTTP
//
// The folder endings checks logs of any agent for endings; leak counts what tests leave.
//
// [NewMemoryServer] and [NewClient] work without a network and under the
// virtual time of testing/synctest. [Serve] and [ParseScenario] are the same
// for the command line; docs/reference/scenarios.md describes the file.
//
// The form of a refusal, and whether its body has a delay before a retry, is decided in
// apierror.go; gemini.go writes the JSON of a Gemini error.
package modeltest
