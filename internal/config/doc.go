// Package config decides what is in force: it takes flags, the environment,
// the user's file, and the project's files, and gives one [Resolved], which
// knows where each value comes from. It reads files and nothing else: the
// environment comes in as a function, and there is no global state.
//
//	default ─► user's file ─► project's files ─► environment ─► flags
//	            anything       only tighten       each beats what is before it
//
// A project's file belongs to whoever wrote the repository (DESIGN, section
// 9). What it may not do is left out, with a note that says so and how to set
// it for oneself; the run goes on with the tighter value. Everything else that
// is wrong is an [*Error], before any model request is made (exit code 2).
//
// docs/reference/settings.md describes the files for people.
package config
