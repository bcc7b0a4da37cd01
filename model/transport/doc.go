// Package transport is what the wire formats share: the HTTP client, one
// request with its answer, the stream of events, and what an error answer
// means.
//
//	Endpoint.Stream ── POST ──► 200 text/event-stream ──► Decoder ──► chunks
//	                     │            └ ends early, reset, not events ─► *model.Error
//	                     └► any other status ─► *model.Error (kind, hint, wait asked for)
//
// It sends what it is told to send, once: no retries, no side requests, and no
// redirect is followed to another host, since it would take the key along.
// There is no timeout for a whole request; the turn's watchdog cancels the
// context. Nothing here reads the environment.
package transport
