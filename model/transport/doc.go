// Package transport is the HTTP layer of all wire formats: the client, one request with
// its answer, the stream of events, and the meaning of error answers. Retries are
// decided in internal/turn, the kind of an error here. Read endpoint.go first.
//
//	Endpoint.Stream ── POST ──► 200 text/event-stream ──► Decoder ──► chunks
//	                     │            └ ends early, reset, not events ─► *model.Error
//	                     └► any other status ─► *model.Error (kind, hint, wait asked for)
//
// It sends each request once: no retries, no other requests, and no redirects to another
// host, which would receive the key. A whole request has no timeout; the turn's watchdog
// cancels the context. The package does not read the environment.
//
// detail.go classifies the words of an error, in an answer and in the middle of a stream;
// status.go looks at the status when the words say nothing. Package history reads the
// numbers in the words of a request that was too long.
//
// sse.go reads server-sent events as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html); comments are reported
// too, since servers use them as keep-alives. retryafter.go reads the delay that a server
// asks for: Retry-After (RFC 9110, section 10.2.3), Retry-After-Ms, or its words.
//
// Other files:
//
//   - provider.go: options that all providers share
//   - client.go: the HTTP client and its timeouts
//   - stream.go: one request, its response as chunks
//   - payload.go: the body, sent again after redirects
//   - body.go: JSON of requests, data URLs
//   - get.go: short GET requests
//   - models.go: lists of models
//   - dialect.go: known deviations of servers by host
//   - count.go: token counts as providers send them
//   - callids.go: IDs for calls without one
//
// That nothing listens at a local address is decided here (endpoint.go); the time for its retries
// is decided in package turn (internal/turn/retry.go).
package transport
