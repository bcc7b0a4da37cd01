// Package rates bounds the requests that all workers of a fleet make with one
// provider key, with a bucket for each key in Postgres:
//
//	turn ─► Enter ─► key's queue here ─► one transaction for all that wait ─► may be sent
//	     ─► leave ─► the usage          ─► with the next transaction
//	429  ─► Hold ─► the key's row and a notification ─► the limiters of all workers
//
// Requests to providers without limits do not wait; only holds are shared then. The
// database knows a key by its hash (C15).
//
// Files:
//
//   - rates.go: limits in the database, and changes of them
//   - key.go: a key's limits in one worker
//   - provider.go: requests that wait for the limits
package rates
