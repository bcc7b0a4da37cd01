// Package pending holds the requests of a client that await an answer, in the order of their
// arrival, and the key of each request, which names the object that it waits for: an input, a turn,
// or the request itself. The protocol decides what to answer and when. This package guarantees that
// each request is answered once, even if the turn's end, a cancel and a shutdown happen together.
// Start with requests.go.
//
//	Add ─► open ─► Answer: removed by the caller that answers the request
//	        ├ Cancel: the client cancelled the request; the protocol decides the answer
//	        ├ Step:   an event reports the progress of the request's input (C19)
//	        └ Close:  shutdown; the caller answers the remaining requests
package pending
