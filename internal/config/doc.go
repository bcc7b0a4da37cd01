// Package config resolves the configuration: it reads flags, the environment, the user's
// file, and the project's files, and returns one [Resolved] with the origin of each value.
// It only reads files: the caller passes the environment as a function, and there is no
// global state.
//
//	default ─► user's file ─► project's files ─► environment ─► flags
//	            anything       only tighten       each overrides the values before it
//
// A project's file belongs to the author of the repository (docs/permissions.md). Load omits
// a forbidden value with a note on how to set it; the run continues with the tighter value.
// Every other mistake is an [*Error] before any model request (exit code 2).
//
// Read load.go first. settings.go declares the settings and kind.go their types;
// provider.go, server.go, hook.go and rule.go read the tables of these names; foreign.go,
// imported.go and permissions.go read files of other agents. watchdog.go derives the
// timeouts of streams from their settings. Package config decides values;
// package policy applies rules, and package assemble builds the agent.
//
// docs/reference/settings.md describes the files for people.
//
// Other files:
//
//   - address.go: which provider the address of a flag belongs to
//   - choose.go: the default model, if the user named none
//   - document.go: reads and parses one file, bounded
//   - error.go: errors about settings, models and keys
//   - keep.go: writes a chosen model and its key to the user's file
//   - started.go: the model, server and effort that were named for a session
//   - preset.go: addresses and keys of cloud services
//   - key.go: a provider's key, from its variable, file or command
//   - mcpjson.go: a project's .mcp.json and its recorded trust
//   - origin.go: the sources of a value and their order
//   - place.go: folders and files of the user
//   - plugins.go: hooks and MCP servers of the user's plugins
//   - project.go: which settings a project may narrow
//   - show.go: the lines of settle config
//   - suggest.go: the nearest known word
//   - terminal.go: settings of the terminal: its keys, and the template of its status row
//
// The default model is decided in choose.go; package assemble only calls Choose, and lists models
// for people (internal/assemble/models.go).
package config
