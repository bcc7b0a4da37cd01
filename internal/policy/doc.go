// Package policy says what may run. A call is taken apart into deeds: each
// simple command of a shell script wherever it hides, each file that is read
// or written. Every one of them must be allowed.
//
//	call ─► deeds ─► denied by a rule ─► Deny
//	                 approved for the session ─► Allow
//	                 the last rule that matches ─► Allow, Ask
//	                 the default: harmless ─► Allow, else Ask (or Deny, or Allow)
//
// Scripts are read as bash reads them. What cannot be judged, such as a
// command whose name is a variable, asks. Rules are for people who mean well:
// what an allowed program does is its own affair. A sandbox is something else.
package policy
