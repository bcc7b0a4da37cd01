package family

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// The default waits of exec_command and write_stdin in milliseconds, as in Codex
// (codex-rs/core/src/tools/handlers/shell_spec.rs).
const (
	execYield  = 10_000
	writeYield = 250
	pollYield  = 5_000
)

// gptForms are the tools of Codex (github.com/openai/codex, codex-rs/core/src/tools).
// apply_patch and its grammar are settle's own: it is a custom tool in wire formats that
// have them.
func gptForms() []*form {
	return []*form{
		{
			name: "exec_command", tool: "shell", offered: true,
			description: func(settles string) string {
				return strings.Replace(settles, "and wait for it to exit.",
					"and wait for it to exit, or for yield_time_ms; what runs on by then becomes a job, "+
						"whose id is the session_id of write_stdin.", 1)
			},
			renames: [][2]string{{"command", "cmd"}, {"yield_ms", "yield_time_ms"}},
			omitted: []string{"timeout_ms", "background", "description", "release"},
			ignored: []string{
				"max_output_tokens", "shell", "login", "justification", "prefix_rule",
				"sandbox_permissions",
			},
			read: readExec, write: writeExec,
		},
		{
			name: "write_stdin", tool: "job", offered: true, beside: true,
			description: func(string) string {
				return "Write to the standard input of a command that exec_command left running with a terminal (tty), or, with no chars, read its output since the last read."
			},
			schema: `{"type":"object","properties":{` +
				`"session_id":{"type":"string","description":"The job's id."},` +
				`"chars":{"type":"string","description":"What to write; empty to read only."},` +
				`"yield_time_ms":{"type":"integer","minimum":1,"description":"Wait this long for output (default 250, without chars 5000)."}},` +
				`"required":["session_id"],"additionalProperties":false}`,
			ignored: []string{"max_output_tokens"},
			read:    readStdin, write: writeStdin,
		},
		{name: "update_plan", tool: "plan", offered: true},
		{name: "request_user_input", tool: "ask_user", offered: true, ignored: []string{"autoResolutionMs"}},
		{
			name: "local_shell", tool: "shell", read: readArgv,
			ignored: []string{"justification", "with_escalated_permissions", "env", "user"},
		},
		{
			name: "container.exec", tool: "shell", read: readArgv,
			ignored: []string{"justification", "with_escalated_permissions"},
		},
		{
			name: "shell_command", tool: "shell",
			ignored: []string{"login", "justification", "sandbox_permissions", "prefix_rule"},
		},
		{name: "list_dir", tool: "list", renames: [][2]string{{"path", "dir_path"}}, ignored: []string{"offset"}},
		{
			name: "read_file", tool: "read", renames: [][2]string{{"path", "file_path"}},
			ignored: []string{"mode", "indentation"},
		},
		{name: "grep_files", tool: "grep", renames: [][2]string{{"glob", "include"}}},
	}
}

func readExec(o *object) (string, error) {
	if !o.has("yield_ms") {
		o.set("yield_ms", execYield)
	}
	return "", nil
}

func writeExec(o *object) bool {
	if n, ok := o.number("yield_ms"); ok && n == execYield {
		o.drop("yield_ms")
	}
	if o.is("background") {
		o.set("yield_ms", writeYield)
	}
	return true
}

func readStdin(o *object) (string, error) {
	if n, ok := o.number("session_id"); ok {
		o.set("session_id", fmt.Sprintf("j%06.0f", n))
	}
	action, wait := "write", writeYield
	if o.text("chars") == "" {
		o.drop("chars")
		action, wait = "read", pollYield
	}
	if !o.has("yield_time_ms") {
		o.set("yield_time_ms", wait)
	}
	o.rename("session_id", "job")
	o.rename("chars", "input")
	o.rename("yield_time_ms", "timeout_ms")
	o.set("action", action)
	return "", nil
}

func writeStdin(o *object) bool {
	action := o.text("action")
	if action != "read" && action != "write" || o.has("eof") {
		return false
	}
	wait := map[string]float64{"write": writeYield, "read": pollYield}[action]
	if n, ok := o.number("timeout_ms"); ok && n == wait {
		o.drop("timeout_ms")
	}
	o.drop("action")
	o.rename("job", "session_id")
	o.rename("input", "chars")
	o.rename("timeout_ms", "yield_time_ms")
	return true
}

// readArgv joins a command that is a list of words to one line. For a list that runs a
// shell script, it returns the script.
func readArgv(o *object) (string, error) {
	words := names(o, "command")
	if words == nil {
		return "", nil
	}
	var line string
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		line = words[2]
	} else {
		quoted := make([]string, len(words))
		for n, w := range words {
			quoted[n] = terminal.ShellWord(w)
		}
		line = strings.Join(quoted, " ")
	}
	o.set("command", line)
	return "", nil
}
