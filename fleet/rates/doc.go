// Package rates bounds the requests that all workers of a fleet make with one
// provider key, with a bucket for each key in Postgres:
//
//	turn ─► Enter ─► key's queue here ─► one transaction for all that wait ─► may be sent
//	     ─► leave ─► what it took       ─► with the next transaction
//	429  ─► Hold ─► the key's row and a notification ─► the limiters of all workers
//
// Nothing is asked for providers without limits; only holds are shared then. A key is
// known by a hash (C15).
package rates
