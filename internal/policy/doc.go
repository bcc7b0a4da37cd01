// Package policy decides which calls run. It splits a call into effects: each simple
// command of a script (package effects), each file that is read or written. Every effect
// must be allowed, layer by layer:
//
//	call ─► effects ─► a rule denies it ─► deny
//	                   a person approved the call for the session ─► allow
//	                   the last rule that matches ─► allow, ask
//	                   the mode: harmless ─► allow, else ask (or deny, or allow)
//	        strictest ─► the call releases a process ─► ask
//	                   no person can answer ─► deny
//	                   the client makes the final decision
//
// A script that the policy cannot analyse needs an approval. Rules protect against
// mistakes, not against a hostile program: only a sandbox restricts the effects of an
// allowed program.
//
// Read policy.go first: it remembers what a person allowed. toolcall.go splits calls and says
// what an approval for the session covers (grant), command.go judges commands with package
// effects, verdict.go and rule.go decide, confine.go chooses the sandbox. secret.go, variable.go and hidden.go define files and variables with secrets. The policy decides
// whether a call runs and which sandbox it gets; package assemble tests the sandboxes, and
// package sandbox enforces them.
//
// Other files:
//
//   - destructive.go: commands that delete or overwrite much
//   - detail.go: the commands and effects that an approval shows
//   - environment.go: variables that change what harmless commands do
//   - git.go: which git commands change the repository
//   - gitconfig.go: git configurations without their credentials
//   - repository.go: whether git could run a program there
//   - secret_record.go: found files with secrets, for the next session
//   - listing.go: rules in force, for people
//   - pattern.go: which commands a pattern of a rule matches
//   - place.go: where a path of a call leads
//   - review.go: calls that a reviewer can allow
//   - files.go: programs and scripts that commands name, with their contents
//   - script.go: commands that a script can run, for destructive.go
//   - stamp_linux.go: detects that a folder has changed
//   - suggest.go: rules that would allow a call
//   - git_options.go: known options of git's subcommands (git_options.txt), and their parser
//   - git_risk.go: other words of git, which a rule must name
//   - git_named.go: whether a rule names such a word
//   - git_remotes.go: remotes in a repository's configuration
package policy
