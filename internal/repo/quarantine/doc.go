// Package quarantine finds git repositories by which a sandboxed command could have
// git run a program later, and moves aside what would do that. Nothing is deleted.
//
// The kernel cannot forbid names inside of a folder that a command may change, so a
// command can make a repository there. A [Guard] therefore looks after each command:
//
//	Enter ─► the command runs ─► Check, Leave
//	  │ nobody ran: what is      │ what is new since then must be harmless:
//	  │ there is the user's      │ else it is renamed to NAME-quarantined-N
//	  ▼                          ▼
//	trusted faults             findings
//
// A repository is harmless if its configuration has nothing but keys of a short list,
// it has no hooks, no links, and no pointers to what is not looked at. Start with
// guard.go; inspect.go says what a fault is.
package quarantine
