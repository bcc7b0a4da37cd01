// Package assemble is the composition root of the coding agent: from the configuration in
// force it makes the [settle.Config] of a host and the [settle.SessionConfig] of a session,
// for all frontends. [Sessions] opens the sessions of a frontend whose clients choose
// settings for each.
//
//	config.Resolved ─► model ─► key, secrets ─► provider over HTTP
//	                ├► tool selection, command environment ─► remoteTools (nil here)
//	                │     ─► confinement ─► judge ─► MCP servers ─► toolFactory ─┐
//	                └► prompt, limits, retry, timeouts ──────────────────────────┴► settle.SessionConfig
//
// Each step of [New] returns a value that a later step needs. All steps precede the first
// model request, and a mistake is an error with which the command line exits with code 2.
// The only network requests are to the executor, and to a local model server for an unknown
// window.
//
// Read agent.go (New) and options.go first. factory.go makes the tools of a session,
// confine.go and sandbox.go choose sandboxes and sandboxprobe.go tests them (package
// sandbox enforces them), area.go lists the folders that commands can change, judge.go
// builds the policy, remote.go makes the first connection to an executor and executor.go is
// the executor's side, provider.go, key.go, shared.go and window.go make model providers
// (package config decides settings, such as timeouts), servers.go, roster.go and
// serverprobe.go handle MCP servers.
//
// Other files:
//
//   - firstrequest.go: what a new session would send first
//   - kinds.go: kinds of child agents, from the definitions of several formats
//   - ceiling.go: the stricter of the user's and a client's settings
//   - changes.go: which calls are recorded for a rewind
//   - difference.go: what a review reviews: git's commits, and the changed files
//   - directory.go: which working directories are refused
//   - extent.go: folders that a client adds to the sandbox
//   - protected.go: files and folders that need a question to change
//   - secrets.go: files that commands cannot open, and why
//   - guarded.go: what a client's own sandboxed commands must not change
//   - unjudged.go: unjudged files that commands of earlier sessions left
//   - includes.go: files that git's configurations include, in the sandbox
//   - git.go: trusted directories by git's configuration
//   - trust.go: records trust in a project's MCP servers
//   - selection.go: which tools the model receives, in which order
//   - models.go: lists of the providers' models
//   - trial.go: one test request to the chosen model
//   - opened.go: an open session; changes of its model
//   - sessions.go: opens sessions of a frontend, with a client's settings
//   - languages.go: which language servers start, and in which sandbox
//   - hooks.go: which hooks run, and in which sandbox
//   - instructions.go: which instruction files are read
//   - skills.go: folders of skills and commands
//   - limit.go: a bound on concurrent requests of a provider
//   - log.go: the diagnostic log
//   - login.go: tokens of MCP servers, login and logout
//   - review.go: the model that reviews calls, its request and its budget
//   - planning.go: plan mode of a session, and its notes for the model
//   - notices.go: notices about the connection to an executor
//   - policy.go: modes of permission, and the policy of a session
//   - search.go: the command that searches the web
//   - status_command.go: the command for the status row of the terminal
//   - web.go: the tool that reads web pages
//   - tasks.go: settings of child agents, and their model
//   - worktree.go: git worktrees of child agents
//   - tools.go: what file and shell tools share: earlier contents, masks
package assemble
