// Package commands finds what a person can call by a slash and a name: prompts that
// are kept as Markdown files, with places for arguments, and skills.
//
//	.settle/commands .claude/commands                        of the project, the nearest folder first
//	~/.config/settle/commands ~/.claude/commands ~/.codex/prompts   of the user
//	skills that a person may call
//	prompts of MCP servers, which no file or skill of the name hides
//	        │
//	        ▼
//	"/review the parser" ─► Expansion.Expand ─► a prompt
//
// A file may begin with two lines of three dashes; between them stand its description
// and argument-hint. For the prompt of a server, that server is asked: faces give the
// session the option [Expander], and an interrupt of the input ends the wait. Expanding a command runs nothing: what a file wants to have run
// is left to the model, whose calls are judged.
package commands
