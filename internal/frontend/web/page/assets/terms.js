// Words for values of the log: the table of event/terms.go, written by "go test -update" in this package.

/** Answers to an approval: what a person chooses, and what was chosen. */
export const answers = {
  "approved": ["allow once", "allowed once"],
  "approved_session": ["allow for the session", "allowed for the session"],
  "denied": ["deny", "denied"],
  "explain": ["deny for now, explain the effects", "denied until the model explains the effects"],
  "aborted": ["stop the turn", "denied, and the turn stopped"],
  "expired": ["expired", "expired"],
};

/** Permission modes. */
export const modes = {
  "ask": "ask",
  "accept-edits": "accept edits",
  "review": "review",
  "read-only": "read-only",
  "plan": "plan",
  "allow": "allow",
};

/** Answers that accept a plan, by the permission mode of the work. */
export const plans = {
  "ask": "accept the plan, and ask before changes",
  "accept-edits": "accept the plan and all edits",
  "allow": "accept the plan and every call",
};

/** Endings of turns, calls and sessions, by outcome or reason. */
export const endings = {
  "completed": "completed",
  "failed": "failed",
  "interrupted": "interrupted",
  "replaced": "replaced",
  "shutdown": "shut down",
  "crashed": "crashed",
  "limit": "limit reached",
  "parent": "parent ended",
  "lost": "machine lost",
  "timeout": "timed out",
};
