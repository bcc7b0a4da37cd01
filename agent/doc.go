// Package agent is settle's coding agent for programs that embed it: the system prompt with
// the project's AGENTS.md, the tools that read, search and change files and run commands, and
// the policy that decides which calls may run.
//
//	a, err := agent.New(ctx, agent.Config{Model: provider.Model("gpt-5.2"), Dir: "/work/project"})
//	defer a.Close(ctx)
//	outcome, err := a.Run(ctx, "fix the failing test")
//
// New opens a [settle.Host] with one session. A program with many sessions opens the host
// itself and passes it the result of [Session]:
//
//	Config ─► Session ─► settle.SessionConfig ─► host.Session(ctx, id, …)
//	      └─► New ─► a host of its own, with that one session
//
// Unlike package settle, package agent reads files: the AGENTS.md or CLAUDE.md of a project
// that the user owns, and its .settle/config.toml, which can only restrict. It does not read
// the user's own configuration. If Config.Environ is nil, commands get the program's
// environment, without provider keys.
//
// Call [settle.RunAsSupervisor] in the first line of main.
package agent
