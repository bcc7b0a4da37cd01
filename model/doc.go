// Package model is the boundary to language models: requests ([Request]), streamed responses
// ([Chunk]), and errors ([Error]).
//
// A [Provider] has one method. Each wire format is a folder of its own: openai (Responses),
// anthropic (Messages), chat (Chat Completions), gemini (streamGenerateContent), and script, a
// model that follows a script. None of them retries, waits or decides when a stream has stalled:
// the turn does.
//
//	Start ─► ( ItemStart ─► Delta* ─► ItemEnd )* ─► End      a response
//	anything ─► error                                        a failure
//	anything, then nothing                                   truncated
//
// Files:
//
//   - provider.go: the interface of a provider, requests and images
//   - config.go: a model's properties and timeouts
//   - error.go: kinds of errors
//   - limiter.go: waits that sessions with one key share
//   - price.go: prices and costs
package model
