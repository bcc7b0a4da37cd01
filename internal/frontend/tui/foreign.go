package tui

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// aliases are names of commands in Claude Code, Codex and opencode, with settle's command that does
// the same. A command of the user comes first. docs/reference/terminal.md has the same.
func aliases() map[string]string {
	return map[string]string{
		"clear": "new", "reset": "new",
		"exit": "quit", "q": "quit",
		"continue": "resume", "session": "resume", "sessions": "resume",
		"branch": "fork",
		"undo":   "rewind", "checkpoint": "rewind",
		"summarize": "compact",
		"models":    "model",
		"approvals": "permissions", "allowed-tools": "permissions",
		"agent": "agents", "subagents": "agents",
		"tasks": "jobs", "bashes": "jobs", "ps": "jobs",
		"todo":   "todos",
		"themes": "theme",
		"vim":    "vi",
		"keymap": "keys", "keybindings": "keys",
	}
}

// counterpart is settle's equivalent of another agent's commands.
type counterpart struct {
	names string // of the commands
	here  string // in the terminal; empty for nothing
	shell string // in a shell; empty for nothing
}

// counterparts are for commands that settle does not have.
func counterparts(keys keymap.Map) []counterpart {
	newline := cmp.Or(keys.Labels(keymap.Newline), "a backslash before Enter")
	editor := cmp.Or(keys.Labels(keymap.ExternalEditor), "the action external_editor")
	return []counterpart{
		{"mcp", "/status shows the MCP servers in use", "settle mcp-servers lists and tests them"},
		{"hooks", "/status shows the hooks in use", "settle hooks lists them"},
		{"skills", "a slash and letters offer your skills", "settle skills lists and checks them"},
		{"plugin", "/plugins lists your plugins", "settle plugins adds, updates and removes them"},
		{"memory", "/status shows the files of instructions in use, and /init has the model write AGENTS.md", ""},
		{"context", "/status shows how full the context is", "settle prompt shows what fills a new one"},
		{"stats", "/usage is about this session", "settle usage sums all sessions"},
		{"config settings debug-config", "/status shows the settings and their files", "settle config lists all"},
		{
			"login connect setup", "",
			"settle setup chooses a model and keeps a key, and settle mcp-servers login NAME logs in to an MCP server",
		},
		{
			"logout", "settle has no account",
			"settle doctor says where keys come from, and settle mcp-servers logout NAME logs out of an MCP server",
		},
		{
			"sandbox", "/permissions shows what runs without a question",
			"settle --sandbox=off, auto or required decides, as does sandbox.use in your configuration",
		},
		{"add-dir", "sandbox.write in your configuration names more folders that commands may change", ""},
		{"statusline", "terminal.status_line in your configuration is the template of the status row", ""},
		{"output-style personality", "AGENTS.md or CLAUDE.md can say how the model answers", ""},
		{"mention", "@ and letters of a path insert a path", ""},
		{"editor", editor + " edits the text in $VISUAL or $EDITOR", ""},
		{"terminal-setup", "no setup is needed: " + newline + " begins a new line", ""},
		{"thinking details", keys.Label(keymap.Transcript, "/transcript") + " shows everything that is folded", ""},
		{"fast", "/effort has the model think less, and /model chooses another one", ""},
		{
			"stop", keys.Label(keymap.Interrupt, "Ctrl-C") + " interrupts the turn, and /kill JOB ends a job", "",
		},
		{"redo", "/resume opens the session before", "settle rewind --undo undoes the rewind of files"},
		{"security-review", "/review WHAT has the model review a change, and WHAT can say what for", ""},
		{"share feedback bug", "settle publishes no session; /export writes the transcript to a file", ""},
		{"remote-control teleport", "/detach leaves the session running", "settle serve shows sessions in a browser"},
		{"ide", "", "settle acp serves editors that speak the Agent Client Protocol"},
		{"update upgrade", "", "settle update looks for a new version"},
	}
}

// counterpartOf returns settle's equivalent of a command; false if settle does not know the
// command.
func counterpartOf(name string, keys keymap.Map) (counterpart, bool) {
	all := counterparts(keys)
	n := slices.IndexFunc(all, func(c counterpart) bool { return slices.Contains(strings.Fields(c.names), name) })
	if n < 0 {
		return counterpart{}, false
	}
	return all[n], true
}

// words describes the counterpart for a person.
func (c counterpart) words() string {
	switch {
	case c.shell == "":
		return c.here
	case c.here == "":
		return "in a shell, " + c.shell
	}
	return c.here + "; in a shell, " + c.shell
}

// plainWords describes the counterpart where most commands and keys of the terminal are missing.
func (c counterpart) plainWords() string {
	if c.shell == "" {
		return ""
	}
	return "in a shell, " + c.shell
}

// isForeign reports whether settle knows the name of a command of another agent.
func isForeign(name string) bool {
	_, isKnown := counterpartOf(name, keymap.Map{})
	return isKnown || aliases()[name] != ""
}

// foreignChoices returns the aliases that begin with the name.
func foreignChoices(name string) (out []choice) {
	all := aliases()
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		if name != "" && strings.HasPrefix(alias, name) {
			out = append(out, choice{id: alias, label: "/" + alias, detail: "as /" + all[alias]})
		}
	}
	return out
}
