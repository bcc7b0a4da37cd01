// Package repo finds the repository around a directory and reads its description. A
// repository is untrusted: another person can have written it.
//
//	dir ─► parents ─► the first one with a .git ─► Path: root … dir
//	Path ─► Trust ─► Project: the directories that can configure settle
//
// Read trust.go first: it decides whose files count. git.go finds a repository without
// running git, config.go checks its configuration, and package quarantine checks the
// repositories that sandboxed commands make.
//
// Other files:
//
//   - repo.go: the root of a repository
//   - host.go: which remotes name this machine
//   - candidates.go: what git could take for a repository
package repo
