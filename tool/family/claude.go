package family

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/internal/terminal"
)

// claudeForms are the tools of Claude Code
// (https://code.claude.com/docs/en/tools-reference) and the text editor of the API
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool).
func claudeForms() []*form {
	renames := func(tool string) [][2]string {
		pairs, _ := claudecode.Arguments(tool)
		return pairs
	}
	file, taskNames := renames("read"), renames("task")
	words := strings.NewReplacer("use edit", "use Edit", "use glob", "use Glob", "use grep", "use Grep",
		`&", background`, `&", run_in_background`).Replace
	editor := &form{tool: "edit", read: readEditor}
	return []*form{
		{
			name: "Bash", tool: "shell", offered: true, description: words,
			renames: renames("shell"),
			omitted: []string{"workdir", "release", "tty", "yield_ms"}, write: writeBash,
		},
		{name: "Read", tool: "read", offered: true, description: words, renames: file, ignored: []string{"pages"}},
		{name: "Write", tool: "write", offered: true, description: words, renames: file},
		{name: "Edit", tool: "edit", offered: true, description: words, renames: file},
		{name: "Glob", tool: "glob", offered: true, description: words, omitted: []string{"limit"}},
		{
			name: "Grep", tool: "grep", offered: true, schema: grepSchema, ignored: []string{"-n"},
			renames: append(renames("grep"), [2]string{"show", "output_mode"}), read: readGrep, write: writeGrep,
		},
		{
			name:    "TodoWrite",
			tool:    "plan",
			offered: true,
			schema: `{"type":"object","properties":{"todos":{"type":"array","description":"All steps, in order.","items":{"type":"object","properties":{` +
				`"content":{"type":"string","description":"The step, in one short sentence."},` +
				`"status":{"type":"string","enum":["pending","in_progress","completed"]},` +
				`"activeForm":{"type":"string","description":"The step in the present continuous form."}},` +
				`"required":["content","status","activeForm"]}}},"required":["todos"],"additionalProperties":false}`,
			read:  readTodos,
			write: writeTodos,
		},
		{
			name: "AskUserQuestion", tool: "ask_user", offered: true,
			ignored: []string{"answers", "annotations", "metadata"},
		},
		{
			name: "ExitPlanMode", tool: "propose_plan", offered: true,
			ignored: []string{"allowedPrompts", "planFilePath", "launchSwarm", "teammateCount"},
		},
		{
			name: "Task", tool: "task", offered: true, renames: taskNames, optional: []string{"agent"}, read: readTask,
			write: writeTask,
		},
		{
			name: "Agent", tool: "task", renames: taskNames, optional: []string{"agent"}, read: readTask,
		},
		{name: "Skill", tool: "skill", offered: true, renames: renames("skill")},
		{name: "WebFetch", tool: "web_fetch", ignored: []string{"prompt"}},
		{name: "WebSearch", tool: "web_search", offered: true},
		{name: "LS", tool: "list", ignored: []string{"ignore"}},
		{name: "BashOutput", tool: "job", read: readJob("read", "bash_id"), ignored: []string{"filter"}},
		{name: "TaskOutput", tool: "job", read: readJob("read", "task_id"), ignored: []string{"block"}},
		{name: "KillShell", tool: "job", read: readJob("kill", "shell_id")},
		{name: "KillBash", tool: "job", read: readJob("kill", "shell_id")},
		{name: "TaskStop", tool: "job", read: readJob("kill", "task_id"), ignored: []string{"shell_id"}},
		{name: "MultiEdit", tool: "edit", read: readMultiEdit},
		{name: "str_replace_based_edit_tool", tool: editor.tool, read: editor.read},
		{name: "str_replace_editor", tool: editor.tool, read: editor.read},
	}
}

const grepSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","minLength":1,"description":"Regular expression (RE2), matched within single lines."},` +
	`"path":{"type":"string","description":"File or directory to search; the working directory by default."},` +
	`"glob":{"type":"string","minLength":1,"description":"Only files that match, such as *.go or src/**/*.{ts,tsx}."},` +
	`"output_mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"Default: files_with_matches."},` +
	`"type":{"type":"string","description":"Only files of this type: go, js, py, rust, …"},` +
	`"-i":{"type":"boolean"},"-A":{"type":"integer"},"-B":{"type":"integer"},"-C":{"type":"integer"},` +
	`"multiline":{"type":"boolean"},"offset":{"type":"integer"},` +
	`"head_limit":{"type":"integer","minimum":0,"description":"Number of results; 100 by default."}},` +
	`"required":["pattern"],"additionalProperties":false}`

// showModes are the output modes of Grep, by settle's names.
func showModes() map[string]string {
	return map[string]string{"lines": "content", "files": "files_with_matches", "count": "count"}
}

func readGrep(o *object) (string, error) {
	if o.is("multiline") {
		return "", errors.New(
			"multiline is not supported: only single lines are searched; look for one of the lines, with context (-C)",
		)
	}
	if n, ok := o.number("offset"); ok && n > 0 {
		return "", errors.New(
			"offset is not supported: narrow the search by path, glob or pattern, or raise head_limit",
		)
	}
	around, has := o.number("context")
	for _, key := range []string{"-A", "-B"} {
		if n, ok := o.number(key); ok {
			around, has = max(around, n), true
		}
	}
	if has && (o.has("-A") || o.has("-B")) {
		o.set("context", around)
	}
	if n, ok := o.number("limit"); ok && n == 0 { // no limit
		o.set("limit", 1000)
	}
	if kind := o.text("type"); kind != "" {
		if o.has("glob") {
			return "", errors.New("type and glob do not go together here: use glob alone")
		}
		o.set("glob", typeGlob(kind))
	}
	o.drop("multiline", "offset", "-A", "-B", "type")
	show := "files"
	for settles, theirs := range showModes() {
		if o.text("show") == theirs {
			show = settles
		}
	}
	o.set("show", show)
	return "", nil
}

func writeGrep(o *object) bool {
	show := o.text("show")
	switch {
	case show == "files":
		o.drop("show") // the default of Grep
	case show == "":
		o.set("show", "content")
	default:
		o.set("show", showModes()[show])
	}
	return true
}

// typeGlob is the glob of a ripgrep file type.
func typeGlob(kind string) string {
	several := map[string]string{
		"js": "*.{js,jsx,mjs,cjs}", "ts": "*.{ts,tsx,mts,cts}", "py": "*.{py,pyi}", "python": "*.{py,pyi}",
		"rust": "*.rs", "ruby": "*.rb",
		"cpp": "*.{cpp,cc,cxx,hpp,hh,h}", "c": "*.{c,h}", "md": "*.{md,markdown}", "markdown": "*.{md,markdown}",
		"yaml": "*.{yml,yaml}",
		"sh":   "*.{sh,bash}", "html": "*.{html,htm}", "csharp": "*.cs", "kotlin": "*.{kt,kts}", "perl": "*.{pl,pm}",
		"haskell": "*.hs", "make": "{Makefile,*.mk}",
	}
	if glob := several[kind]; glob != "" {
		return glob
	}
	return "*." + kind
}

func writeBash(o *object) bool {
	if dir := o.text("workdir"); dir != "" && o.text("command") != "" {
		o.set("command", "cd "+terminal.ShellWord(dir)+" && "+o.text("command"))
	}
	return true
}

// step is a step of a plan, with the keys of both tools.
type step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

type todo struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
}

func readTodos(o *object) (string, error) {
	var todos []todo
	if m := o.find("todos"); m != nil && json.Unmarshal([]byte(m.value), &todos) == nil {
		steps := []step{}
		for _, t := range todos {
			steps = append(steps, step{t.Content, t.Status})
		}
		o.set("todos", steps)
		o.rename("todos", "plan")
	}
	return "", nil
}

func writeTodos(o *object) bool {
	var steps []step
	if m := o.find("plan"); m != nil && json.Unmarshal([]byte(m.value), &steps) == nil {
		todos := []todo{}
		for _, s := range steps {
			todos = append(todos, todo{s.Step, s.Status, s.Step})
		}
		o.set("plan", todos)
		o.rename("plan", "todos")
	}
	o.drop("explanation")
	return true
}

// readTask replaces the names of an agent's tools by settle's names.
func readTask(o *object) (string, error) {
	if tools := names(o, "tools"); tools != nil {
		for n, name := range tools {
			if f := Claude.named(name); f != nil {
				tools[n] = f.tool
			}
		}
		o.set("tools", tools)
	}
	return "", nil
}

func writeTask(o *object) bool {
	if tools := names(o, "tools"); tools != nil {
		for n, name := range tools {
			if f := Claude.offer(name); f != nil {
				tools[n] = f.name
			}
		}
		o.set("tools", tools)
	}
	return true
}

// readJob reads the call of a tool with one action on a job.
func readJob(action, id string) func(*object) (string, error) {
	return func(o *object) (string, error) {
		o.rename(id, "job")
		o.rename("timeout", "timeout_ms")
		o.set("action", action)
		return "", nil
	}
}

func readMultiEdit(*object) (string, error) {
	return "", errors.New(
		"several edits in one call are not supported: make one call of Edit for each; calls can be made side by side",
	)
}

// readEditor reads a command of the text editor as a call of the corresponding tool.
func readEditor(o *object) (string, error) {
	command := o.text("command")
	o.drop("command")
	switch command {
	case "view":
		var lines []int
		if m := o.find("view_range"); m != nil {
			if json.Unmarshal([]byte(m.value), &lines) != nil || len(lines) != 2 || lines[0] < 1 {
				return "", errors.New("view_range must be two line numbers, from 1")
			}
			o.drop("view_range")
			o.set("offset", lines[0])
			if lines[1] >= lines[0] {
				o.set("limit", lines[1]-lines[0]+1)
			}
		}
		return "read", nil
	case "create":
		o.rename("file_text", "content")
		return "write", nil
	case "str_replace":
		o.rename("old_str", "old_string")
		o.rename("new_str", "new_string")
		if !o.has("new_string") {
			o.set("new_string", "")
		}
		return "edit", nil
	}
	return "", errors.New("the command " + quote(strings.ToValidUTF8(command, "\uFFFD")) +
		" is not supported; view, create and str_replace are")
}
