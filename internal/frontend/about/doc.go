// Package about reports on the installation without running a turn: the settings in force
// with their origins (settings.go), checks of this machine (doctor.go), MCP servers,
// models, skills, hooks, and newer releases (update.go;
// installed.go finds out how settle was installed, upgrade.go replaces the program). Package config decides which
// setting is in force; this package only prints it.
//
// Other files:
//
//   - agents.go: settle agents: the table and problems
//   - doctor_model.go: checks of keys and of the chosen model
//   - prompt.go: settle prompt: a table and texts
//   - download.go: downloads for update, bounded
//   - verify.go: which signatures and checksums update accepts
//   - hooks.go: settle hooks: the list
//   - imported.go: what is in use of Claude Code's and Codex's configuration
//   - models.go: settle models: the table
//   - plugins.go: settle plugins: the table, and one plugin in full
//   - servers.go: settle mcp-servers: the table
//   - skills.go: settle skills: the table
package about
