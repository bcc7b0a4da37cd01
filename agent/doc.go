// Package agent is settle's coding agent for programs that embed it: the system
// prompt with the project's AGENTS.md, the tools that read, search and change
// files and run commands, and the policy that decides which calls may run.
//
//	a, err := agent.New(ctx, agent.Config{Model: provider.Model("gpt-5.2"), Dir: "/work/project"})
//	defer a.Close(ctx)
//	outcome, err := a.Run(ctx, "fix the failing test")
//
// New is a [settle.Host] with one session. A program with many sessions opens
// the host itself, and gives it what [Session] returns:
//
//	Config ─► Session ─► settle.SessionConfig ─► host.Session(ctx, id, …)
//	      └─► New ─► a host of its own, with that one session
//
// Unlike package settle, this one reads files of its own accord: the AGENTS.md or
// CLAUDE.md and the .settle/config.toml of a project that the user owns, of which
// the latter can only forbid. It reads none of the user's own configuration. It
// reads the environment only where Config.Environ is nil, for commands.
//
// A program whose agents run commands calls [settle.RunAsWarden] in the first
// line of its main.
package agent
