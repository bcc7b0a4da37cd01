// Package execservertest is a client of exec-servers, for tests, and a measure of their
// process tracking: commands that try to outlive their process, and the number that do.
//
//	Escapes × Endings ─► Survivors, on settle's server and on Codex's
package execservertest
