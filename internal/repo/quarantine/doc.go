// Package quarantine finds git repositories by which a sandboxed command could make git run
// a program later, and moves the dangerous files aside. It deletes nothing.
//
// The kernel cannot forbid names inside a folder that a command can change, so a command
// can make a repository there. A [Guard] therefore runs a look when a command ends:
//
//	Enter ─► the command runs ─► Check, Leave
//	  │ no command ran: existing │ new files must be harmless;
//	  │ files are the user's     │ others are renamed to NAME-quarantined-N
//	  ▼                          ▼
//	trusted faults             findings
//
// A repository is harmless if its configuration has only keys of a short list, and if it
// has no hooks, no links, and no pointers to folders that looks do not read. Read guard.go
// first; inspect.go and operation.go define faults, keys.go the harmless keys, walk.go finds repositories,
// look.go bounds a look. Package sandbox protects existing repositories; package assemble
// decides which folders are looked at.
//
// Other files:
//
//   - environment.go: configurations in variables of the environment
//   - gitconfig.go: reads git's configuration by git's grammar
//   - links.go: links that lead out of a folder
//   - move.go: changes entries of an inspected folder only
//   - include.go: files that configurations include
//   - obeyed.go: files that git obeys by its configuration
//   - programs.go: programs that commands of a configuration start
//   - remote.go: whether a remote is on another machine
//   - targets.go: where links of obeyed paths lead
//   - unjudged.go: what commands of earlier sessions left
//   - watch_linux.go: new names in folders, from the kernel
//   - words.go: words of commands, as a shell reads them
package quarantine
