// Package plugin keeps the user's plugins: folders in the layout of Claude Code
// (https://code.claude.com/docs/en/plugins-reference) with skills, commands, kinds of child
// agents, hooks and MCP servers.
//
//	directory or commit ─► Tree ─► Store.Stage: a copy, named by its digest
//	                                   │ shown to the user, who trusts it
//	                                   ▼
//	            Store.Record ─► Store.List ─► Plugin, or the reason why it is not used
//
// Trust belongs to a digest of all files. Sessions use the copy and never the source, so that no
// program can change a plugin between the check and its use; the copy is in the data directory,
// which sandboxed commands cannot change. A copy that does not have the trusted digest is not used.
// A source that differs from the copy is only reported.
//
// Read store.go first. lock.go has the lock for all changes, tree.go reads a folder without
// following links and computes digests, manifest.go finds the parts of a plugin. Package config
// turns the parts into hooks and servers, internal/skills reads the rest, and
// internal/client/plugins fetches plugins and shows them.
package plugin
