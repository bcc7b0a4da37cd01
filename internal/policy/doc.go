// Package policy says what may run. A call is taken apart into effects: each
// simple command of a script (package effects), each file that is read or
// written. Every one of them must be allowed.
//
//	call ─► effects ─► denied by a rule ─► Deny
//	                   approved for the session, to the letter ─► Allow
//	                   the last rule that matches ─► Allow, Ask
//	                   the default: harmless ─► Allow, else Ask (or Deny, or Allow)
//
// A script that is not understood asks. Rules are for people who mean well:
// what an allowed program does is its own affair. A sandbox is something else.
package policy
