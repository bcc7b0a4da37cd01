// Package commands finds the commands that a person calls by a slash and a name: prompts in
// Markdown files with places for arguments, skills, and the built-in /init and /review.
//
//	.settle/commands .claude/commands                        of the project, the nearest folder first
//	~/.config/settle/commands ~/.claude/commands ~/.codex/prompts   of the user
//	skills that a person can call
//	/init and /review, unless a file or a skill has the same name
//	prompts of MCP servers, likewise
//	        │
//	        ▼
//	"/review the parser" ─► Expansion.Expand ─► a prompt
//
// A file can begin with front matter between two lines of three dashes: description and
// argument-hint. The prompt of an MCP server needs a request to that server. Frontends
// therefore give the session the option [Expander], and an interrupt of the input ends the
// wait. Expanding a command runs nothing: the model decides what to run, and its calls need
// the usual approval. command.go has the type, find.go the search, builtin.go settle's own
// commands, prompt.go the expansion.
package commands
