// Package rates bounds the requests that all workers of a fleet make with one
// provider key, with a bucket for each key in Postgres:
//
//	turn ─► Enter ─► key's queue here ─► one transaction for all that wait ─► may be sent
//	     ─► leave ─► what it took       ─► with the next transaction
//	429  ─► Hold ─► the key's row and a notification ─► the limiters of all workers
//
// Nothing is asked for providers without limits; only holds are shared then. A key is
// known by a hash (C15).
//
// Files:
//
//   - rates.go: limits in the database, and changes of them
//   - key.go: a key's limits in one worker
//   - provider.go: requests that wait for the limits
package rates
