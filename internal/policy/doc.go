// Package policy says what may run. A call is taken apart into effects: each
// simple command of a script (package effects), each file that is read or
// written. Every one of them must be allowed, layer by layer:
//
//	call ─► effects ─► a rule denies it ─► deny
//	                   a person approved the call for the session ─► allow
//	                   the last rule that matches ─► allow, ask
//	                   the mode: harmless ─► allow, else ask (or deny, or allow)
//	        strictest ─► it lets a process outlive settle ─► ask
//	                   nobody is to be asked ─► deny
//	                   the client has the last word
//
// A script that is not understood asks. Rules are for people who mean well:
// what an allowed program does is its own affair. A sandbox is something else.
package policy
