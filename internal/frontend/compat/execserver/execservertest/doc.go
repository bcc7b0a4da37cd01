// Package execservertest is a client of exec-servers, for tests, and a measure of their
// process tracking: commands that try to outlive their process, and the number that do.
//
//	Escapes × Endings ─► Survivors, on settle's server and on Codex's
//
// Files:
//
//   - client.go: a client of an exec-server
//   - escape.go: attempts to escape process tracking
//   - matrix.go: measures process tracking of a server
//   - player.go: runs helpers of tests outside of tests
package execservertest
