// Package execservertest is a client of exec-servers, for tests, and what they are
// measured by: commands that do what they can to outlive their process, and how many
// of them do.
//
//	Escapes × Endings ─► Survivors, on settle's server and on the one it stands in for
package execservertest
