package assemble_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool/family"
)

// work is a scripted task: the model's calls, step by step, with real tools.
type work struct {
	name  string
	steps []step
}

// step is a response: its calls, or an answer.
type step []deed

// deed is a call with settle's names, or text.
type deed struct{ tool, args, text string }

func says(text string) step { return step{{text: text}} }

func does(tool string, args map[string]any) deed {
	raw, _ := json.Marshal(args) // strings and numbers
	return deed{tool: tool, args: string(raw)}
}

func reads(path string) deed { return does("read", map[string]any{"path": path}) }
func runs(line string) deed  { return does("shell", map[string]any{"command": line}) }

func edits(path, from, to string) deed {
	return does("edit", map[string]any{"path": path, "old_string": from, "new_string": to})
}

func plans(first, second string) deed {
	return does("plan", map[string]any{"plan": []any{
		map[string]string{"step": "Write it.", "status": first},
		map[string]string{"step": "Check it.", "status": second},
	}})
}

const answer = "Done. The change is small, and the check passes."

func works() []work {
	long := []step{}
	for n := range 12 {
		long = append(long, step{reads(fmt.Sprintf("part%02d.txt", n))})
	}
	return []work{
		{"answer a question", []step{says("A mutex is locked by one goroutine at a time.")}},
		{"read a file", []step{{reads("main.txt")}, says(answer)}},
		{"find a word", []step{
			{does("grep", map[string]any{"pattern": "needle"})},
			{reads("part03.txt")},
			says(answer),
		}},
		{"fix a line", []step{
			{reads("main.txt")},
			{edits("main.txt", "total = 1", "total = 2")},
			{runs("grep -c 'total = 2' main.txt")},
			says(answer),
		}},
		{"write a file", []step{
			{does("write",
				map[string]any{"path": "new.txt", "content": strings.Repeat("a new line\n", 60)})},
			{runs("wc -l new.txt")},
			says(answer),
		}},
		{"rename in three files", []step{
			{does("grep", map[string]any{"pattern": "oldname"})},
			{
				edits("part00.txt", "oldname", "newname"), edits("part01.txt", "oldname", "newname"),
				edits("part02.txt", "oldname", "newname"),
			},
			{runs("grep -l newname *.txt")},
			says(answer),
		}},
		{"follow a plan", []step{
			{plans("in_progress", "pending")},
			{does("write", map[string]any{"path": "out.txt", "content": "x\n"})},
			{plans("completed", "in_progress")},
			{runs("cat out.txt")},
			{plans("completed", "completed")},
			says(answer),
		}},
		{"mend what fails", []step{
			{runs("sh check.sh")},
			{reads("check.sh")},
			{edits("check.sh", "exit 1", "exit 0")},
			{runs("sh check.sh")},
			says(answer),
		}},
		{"read a long output", []step{
			{runs("cat part*.txt part*.txt part*.txt")},
			{runs("tail -n 3 part11.txt")},
			says(answer),
		}},
		{"read twelve files", append(long, says(answer))},
	}
}

// files makes the files of the tasks.
func files(tb testing.TB, dir string) {
	tb.Helper()
	text := map[string]string{
		"main.txt": strings.Repeat("a line of the program\n", 40) + "total = 1\n" +
			strings.Repeat("and a line after it\n", 40), "check.sh": "echo checking\nexit 1\n",
	}
	for n := range 12 {
		text[fmt.Sprintf("part%02d.txt", n)] = fmt.Sprintf("oldname %d\n", n) +
			strings.Repeat(fmt.Sprintf("line of part %02d, with some words in it\n", n), 50) +
			map[bool]string{true: "needle\n"}[n == 3]
	}
	for name, content := range text {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// turn returns the step in the form of a model family: GPT models read, search and edit
// only with the shell and patches.
func (s step) turn(tb testing.TB, f family.Family) modeltest.Turn {
	tb.Helper()
	var items []modeltest.Item
	for _, d := range s {
		if d.text != "" {
			items = append(items, modeltest.Text(d.text))
			continue
		}
		if f == family.GPT {
			d = d.shelled(tb)
		}
		name, args := family.Write(f, d.tool, d.args)
		item := modeltest.Call(name, args)
		if d.tool == "apply_patch" {
			item.Input = d.text
			var in struct{ Input string }
			if err := json.Unmarshal([]byte(d.args), &in); err != nil {
				tb.Fatal(err)
			}
			item.Input = in.Input
		}
		items = append(items, item)
	}
	return modeltest.Reply(items...)
}

func (d deed) shelled(tb testing.TB) deed {
	tb.Helper()
	var in map[string]any
	if err := json.Unmarshal([]byte(d.args), &in); err != nil {
		tb.Fatal(err)
	}
	switch d.tool {
	case "read":
		return runs(fmt.Sprintf("cat %s", in["path"]))
	case "grep":
		return runs(fmt.Sprintf("grep -n %s *.txt", in["pattern"]))
	case "write":
		lines := strings.ReplaceAll(strings.TrimSuffix(in["content"].(string), "\n"), "\n", "\n+")
		return does(
			"apply_patch",
			map[string]any{
				"input": fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch", in["path"], lines),
			},
		)
	case "edit":
		old, to := in["old_string"].(string), in["new_string"].(string)
		if old == "oldname" { // a line of the file
			n := strings.TrimSuffix(strings.TrimPrefix(in["path"].(string), "part0"), ".txt")
			old, to = old+" "+n, to+" "+n
		}
		return does(
			"apply_patch",
			map[string]any{
				"input": fmt.Sprintf(
					"*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch", in["path"], old, to,
				),
			},
		)
	}
	return d
}

// spent is the usage of a task.
type spent struct {
	requests              int
	input, cached, output int64
}

// play lets a model do the task.
func (w work) play(tb testing.TB, model string, f family.Family) spent {
	tb.Helper()
	var turns []modeltest.Turn
	for _, s := range w.steps {
		turns = append(turns, s.turn(tb, f))
	}
	server, s := playing(tb, modeltest.Scenario{Turns: turns, Rules: modeltest.Rules{Caches: true}},
		map[string]string{"model": model})
	files(tb, s.Spec.Dir)
	turn, err := s.Submit(tb.Context(), "Please: "+w.name+".")
	if err != nil {
		tb.Fatal(err)
	}
	end, err := turn.Wait(tb.Context())
	if refused := server.Refusals(); err != nil || !end.Completed() || len(refused) > 0 {
		tb.Fatalf("%s, %s: %+v, %v, %q", w.name, model, end, err, refused)
	}
	for _, i := range s.State().Turns[0].Items {
		if c := i.Content(); c.Type == event.ToolCall && i.Status != event.ItemCompleted &&
			w.name != "mend what fails" {
			tb.Fatalf("%s, %s: %s %s: %s", w.name, model, c.Name, i.Status, c.Output)
		}
	}
	u := end.Summary.Usage
	took := spent{end.Summary.Attempts, u.Input, u.CacheRead, u.Output}
	if strings.HasPrefix(model, "gemini/") { // its cache rules are unknown; only the size of the requests counts
		took.input, took.cached = 0, -1
		for _, x := range server.Exchanges() {
			took.input += int64(len(x.Body)) / 4
		}
	}
	return took
}

// cell is the table's form: input, the cached share of the input, output.
func (s spent) cell() string {
	cached := "–"
	if s.cached >= 0 {
		cached = fmt.Sprintf("%.0f %%", 100*float64(s.cached)/float64(max(s.input, 1)))
	}
	return fmt.Sprintf("%d, %s, %d", s.input, cached, s.output)
}

// wires returns a model of each wire format, and its family.
func wires() ([]string, map[string]family.Family) {
	list := []string{"anthropic/claude-opus-5-5", "openai/gpt-5.2", "gemini/gemini-3.8-flash", "local/qwen"}
	return list, map[string]family.Family{
		list[0]: family.Claude, list[1]: family.GPT, list[2]: family.Settle,
		list[3]: family.Settle,
	}
}

// BenchmarkTokens prints the usage of ten tasks in the form of docs/tokens.md.
func BenchmarkTokens(b *testing.B) {
	var table strings.Builder
	for range b.N {
		table.Reset()
		models, families := wires()
		fmt.Fprintf(&table, "\n| Task | Requests | %s |\n| --- | --- |%s\n", strings.Join(models, " | "),
			strings.Repeat(" --- |", len(models)))
		total := make([]spent, len(models))
		for _, w := range works() {
			var cells []string
			for n, model := range models {
				s := w.play(b, model, families[model])
				total[n] = spent{
					total[n].requests + s.requests, total[n].input + s.input, total[n].cached + s.cached,
					total[n].output + s.output,
				}
				cells = append(cells, s.cell())
			}
			fmt.Fprintf(&table, "| %s | %d | %s |\n", w.name, len(w.steps), strings.Join(cells, " | "))
		}
		var cells []string
		for _, s := range total {
			cells = append(cells, s.cell())
		}
		fmt.Fprintf(&table, "| all | %d | %s |\n", total[0].requests, strings.Join(cells, " | "))
	}
	fmt.Println(table.String()) // the log of a benchmark is cut after ten lines
}

// The tasks of the table work for each wire format, and a second request reads the first
// one from the cache.
func TestTokens(t *testing.T) {
	models, families := wires()
	// the step needs no programs
	w := work{"plan", []step{{plans("in_progress", "pending")}, {plans("completed", "in_progress")}, says(answer)}}
	for _, model := range models {
		s := w.play(t, model, families[model])
		if s.requests != len(w.steps) || s.output == 0 || s.input < 1000 || s.cached >= 0 && s.cached*2 < s.input {
			t.Errorf("%s: %+v", model, s)
		}
	}
}
