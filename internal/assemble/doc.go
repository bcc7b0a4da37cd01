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
// sandbox enforces them), area.go lists the folders that commands can change, judge.go builds the policy, remote.go connects to an executor and
// executor.go is the executor's side, provider.go, key.go, shared.go and window.go make
// model providers (package config decides settings, such as timeouts), servers.go,
// roster.go and serverprobe.go handle MCP servers.
package assemble
