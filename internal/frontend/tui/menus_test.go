package tui

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
)

// rich are sessions that support all optional operations.
type rich struct {
	inMemory
	listed []Listed
	forked []string // turns before which the session was forked, and the outcome of the file changes
	files  []rewind.File
	talk   *richTalk
	// expand replaces the MCP servers that expand commands.
	expand  func(ctx context.Context, text string) (string, []event.Image, error)
	prompts []mcp.Command
	fixed   error         // error of a mode change; nil if the mode can change
	wait    chan struct{} // if set, changes of the mode wait for it
}

// richTalk is a conversation that supports all optional operations.
type richTalk struct {
	talk
	of *rich

	mu                  *sync.Mutex // guards the fields below
	model, effort, mode string
	rules               []Rule
}

func (r *rich) Open(ctx context.Context, id string) (Conversation, error) {
	c, err := r.inMemory.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r.talk = &richTalk{talk: c.(talk), of: r, mu: &sync.Mutex{}, model: "a/one", mode: "ask", rules: []Rule{
		{Decision: "deny", Text: "shell rm", Where: "config.toml:3"}, {
			ID: "k", Decision: "allow", Text: "make test", Where: "approved",
		},
	}}
	return r.talk, nil
}

func (r *rich) Close(ctx context.Context, c Conversation, reason event.Reason, by string) error {
	return r.inMemory.Close(ctx, c.(*richTalk).talk, reason, by)
}
func (r *rich) List(context.Context) ([]Listed, error) { return r.listed, nil }

func (r *rich) Preview(_ context.Context, id string) ([]string, error) {
	return []string{"what was said in " + id}, nil
}

func (r *rich) Plan(_ context.Context, _, turn string) (*rewind.Plan, error) {
	return &rewind.Plan{
		Turn: turn, Files: r.files, Uncovered: []rewind.Uncovered{{Kind: rewind.Command, Text: "make"}},
	}, nil
}

func (r *rich) GoBack(_ context.Context, p *rewind.Plan, files rewind.Files) (rewind.Report, error) {
	r.forked = append(r.forked, p.Turn+string(files))
	out := rewind.Report{Session: "fork"}
	if files == rewind.RestoreFiles {
		out.Restored, out.Snapshot = p.Changes(), "/data/rewound"
	}
	return out, nil
}

func (r *richTalk) Prompts() ([]mcp.Command, []string) { return r.of.prompts, nil }

func (r *richTalk) Expand(ctx context.Context, text string) (string, []event.Image, error) {
	if r.of.expand == nil {
		return text, nil, nil
	}
	return r.of.expand(ctx, text)
}

func (r *richTalk) Models(context.Context) ([]assemble.Offered, error) {
	return []assemble.Offered{
		{Name: "a/one", Window: 200_000, Price: &model.Price{Input: 4, Output: 20}, Efforts: []string{"low", "high"}},
		{Name: "a/two"},
		{Name: "b/three"},
	}, nil
}

func (r *richTalk) Choose(_ context.Context, setting, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if setting == "model" {
		r.model = value
	} else {
		r.effort = value
	}
	return nil
}

func (r *richTalk) locked(read func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	read()
}

func (r *richTalk) Model() (name string)  { r.locked(func() { name = r.model }); return name }
func (r *richTalk) Effort() (name string) { r.locked(func() { name = r.effort }); return name }
func (r *richTalk) Mode() (name string)   { r.locked(func() { name = r.mode }); return name }
func (r *richTalk) Rules(context.Context) (all []Rule, err error) {
	r.locked(func() { all = slices.Clone(r.rules) })
	return all, nil
}

func (r *richTalk) Forget(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = slices.DeleteFunc(r.rules, func(rule Rule) bool { return rule.ID == id })
	return nil
}

func (r *richTalk) SetMode(ctx context.Context, name string) error {
	if r.of.wait != nil {
		select {
		case <-r.of.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of.fixed != nil {
		return r.of.fixed
	}
	r.mode = name
	return nil
}

// set is a change by the session's host.
func (r *richTalk) set(mode string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = mode
}

func TestPickers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rich{
			listed: []Listed{
				{ID: "other", Title: "fix the parser", Updated: time.Now()},
				{ID: "third", Title: "write docs", Updated: time.Now()},
			},
		}
		p, code := newPerson(t, Options{Sessions: r})
		p.types("/model\r")
		p.sees(
			"  Model    Window  $/M in / out  Effort", "› a/one    200k    4 / 20        low to high",
			"  a/two", "Model: ",
		)
		p.types("thr")
		p.misses("a/two")
		p.types("\r")
		p.sees("from the next turn on: b/three")
		p.types("/effort\r")
		p.types("high\x1b[B\r")
		if r.talk.model != "b/three" || r.talk.effort != "xhigh" {
			t.Errorf("model %q, effort %q", r.talk.model, r.talk.effort)
		}
		p.types("/permissions\r")
		p.sees(
			"Mode (Enter changes it)", "› ask", "deny shell rm  config.toml:3", "Allowed for the session",
			"  make test",
		)
		p.types("make\x04")
		p.misses("make test  ")
		p.types("\x15read-only\r")
		if r.talk.mode != "read-only" || len(r.talk.rules) != 1 {
			t.Errorf("mode %q, rules %v", r.talk.mode, r.talk.rules)
		}
		p.types("/resume\r")
		p.sees("fix the parser", "write docs", "│ what was said in other")
		p.types("docs")
		p.sees("│ what was said in third")
		p.types("\x1b")
		p.types("/cost\r")
		p.sees("no request was made yet")
		p.types("\x04")
		p.left(code, 0)
	})
}

// After an approval was taken back, the mode in force is selected: Enter changes nothing. The modes do not
// wrap to the last choice, which allows every call.
func TestRevokeSelectsModeInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rich{}
		p, code := newPerson(t, Options{Sessions: r})
		p.types("/permissions\r")
		p.sees("› ask")
		p.types("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B")
		p.sees("› make test")
		p.types("\x04")
		p.sees("› ask")
		p.types("\r")
		if r.talk.mode != "ask" || len(r.talk.rules) != 1 {
			t.Errorf("mode %q, rules %v", r.talk.mode, r.talk.rules)
		}
		p.types("/permissions\r")
		p.types("\x1b[A")
		p.sees("› ask")
		p.types("\x1b")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Esc twice where there is nothing to interrupt goes back to before an earlier input,
// which is in the editor then.
func TestRewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rich{}
		p, code := newPerson(t, Options{Sessions: r}, script.Turn(script.Text("1")), script.Turn(script.Text("2")))
		p.types("first\r")
		p.types("second\r")
		if _, err := p.to.Write([]byte("\x1b")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		p.types("\x1b")
		p.sees("  first", "› second", "Go back to before:  Enter chooses, Esc closes", "the session stays as it is")
		p.types("\x1b[A\r")
		p.sees("$ make")
		if !slices.Equal(r.forked, []string{"t000001leave"}) {
			t.Errorf("forked before %q", r.forked)
		}
		rows := p.tty.rows()
		last := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "· session fork") })
		if last < 0 || !slices.Contains(rows[last:], "> first") {
			t.Errorf("the input is not in the editor of the copy:\n%s", strings.Join(rows, "\n"))
		}
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// A new session is nothing to continue: the session before it is. A rewind's copy is continued also without an
// input, since the original is wrong about the files.
func TestEndNamesSessionWithInput(t *testing.T) {
	for _, keys := range []string{"/rewind\r\r\x03", "/new\r", "/new\r/new\r", "/rewind\r\r\x03/new\r"} {
		synctest.Test(t, func(t *testing.T) {
			r := &rich{}
			o := Options{Sessions: r, Resume: func(id string, _ bool) string { return "settle resume " + id }}
			p, code := newPerson(t, o, script.Turn(script.Text("1")))
			p.types("first\r")
			first := r.talk.ID()
			want := first
			for n, key := range strings.SplitAfter(keys, "\r") {
				p.types(key)
				if n == 1 && strings.HasPrefix(keys, "/rewind") {
					want = r.talk.ID()
				}
			}
			if r.talk.ID() == first {
				t.Errorf("%q: the session is still the first one", keys)
			}
			p.types("\x04")
			p.left(code, 0)
			p.sees("Continue with:", "settle resume "+want[:min(len(want), 20)])
		})
	}
}

// The menu shows the file changes of a rewind, and asks about them.
func TestRewindFiles(t *testing.T) {
	for keys, want := range map[string]string{
		"\r": "t000001restore", "\r found": "t000001restore", "\x1b[B\r": "t000001leave", "\x1b": "",
	} {
		keys, isFound := strings.CutSuffix(keys, " found")
		undo := "/data/rewound" // another data directory needs a path
		if isFound {
			undo = "fork"
		}
		synctest.Test(t, func(t *testing.T) {
			r := &rich{
				files: []rewind.File{
					{Target: file.Target{Path: "a.go"}, Do: rewind.Restore},
					{Target: file.Target{Path: "b.go"}, Do: rewind.Keep, Why: "changed since"},
				},
			}
			p, code := newPerson(t, Options{Sessions: r, FindsDataDir: isFound}, script.Turn(script.Text("1")))
			p.types("first\r")
			p.types("/rewind\r")
			p.types("\r")
			p.sees(
				"Go back:  Enter chooses, Esc closes", "the files as they are now are copied first",
				"· restore a.go", "· keep b.go (changed since)", "· $ make", "› and restore 1 file",
				"  and leave the files as they are",
			)
			p.types(keys)
			if got := strings.Join(r.forked, " "); got != want {
				t.Errorf("%q: forked before %q, want %q", keys, got, want)
			}
			if want == "t000001restore" {
				p.sees(
					"· restored 1 file: a.go; what was there before is in", "/data/rewound",
					"To undo that, in a shell:\nsettle rewind --undo "+undo,
				)
			}
			if want != "" {
				p.sees("· a copy of ", "returns to the original")
				p.sees("> first")
			}
			p.types("\x03\x04")
			p.left(code, 0)
		})
	}
}

// The inputs that wait are shown in their groups; each can be edited or withdrawn.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{}, script.Turn(script.Stall()))
		p.types("go\r")
		p.types("one\r")
		p.types("two\r")
		p.types("three\t")
		p.types("/queue\r")
		p.sees("Joins the next request", "› three", "Waits for the end", "  one", "  two")
		p.sees("Queue:  Enter edits it, Esc closes; Ctrl-D withdraws it")
		p.types("\x1b[B\x04")
		p.sees("Queue: ", "  three", "› two")
		p.misses("  one")
		p.types("\r")
		p.sees("> two", "↳ joins the next request: three")
		p.misses("waits for the end: two")
		p.types("\x03\x1b")
		p.types("\x03/queue\r") // the first one had no effect: it is back in the editor
		p.sees("Held; goes with the next input", "› three")
		p.types("\x04")
		p.misses("Queue: ")
		p.types("\x04")
		p.left(code, 0)
	})
}

// The accounts are read off the log.
func TestTimelineAndCost(t *testing.T) {
	for seed := range drawn() {
		grid := terminaltest.NewGrid(80, 24)
		s := newStage(grid, terminal.ReflowAll, 80, 24)
		s.take(drawLog(t, seed))
		turns, requests := len(s.state().Turns), 0
		for _, turn := range s.state().Turns {
			requests += len(turn.Attempts)
		}
		s.showTimeline("")
		text := ""
		for _, part := range s.overlay.pager.sheet {
			for _, row := range part(200) {
				text += row.Text() + "\n"
			}
		}
		if n := strings.Count(text, "  do"); n < turns || strings.Count(text, " request ") < requests {
			t.Errorf("seed %d: %d turns, %d requests:\n%s", seed, turns, requests, text)
		}
		s.overlay.pager = nil
		s.showCost("")
		if requests > 0 &&
			!strings.Contains(s.overlay.pager.sheet[0](200)[0].Text(), terminal.Count(requests, "request")) {
			t.Errorf("seed %d: %s", seed, s.overlay.pager.sheet[0](200)[0].Text())
		}
	}
}

// Answers are whole at each width, with their keys at the right edge. The effect of a choice is
// below it if its row has no room for it.
func TestMenusFitNarrowTerminals(t *testing.T) {
	answers := &list{answers: true, at: 1, choices: []choice{
		{label: "1 allow once", detail: "y"},
		{label: "2 deny for now, explain the effects", detail: "e"},
		{label: "3 stop the turn", detail: "Esc"},
	}}
	for width, want := range map[int]string{
		80: `  1 allow once                           y
› 2 deny for now, explain the effects    e
  3 stop the turn                      Esc`,
		40: `  1 allow once                         y
› 2 deny for now, explain the          e
    effects
  3 stop the turn                    Esc`,
	} {
		if got := strings.Join(texts(answers.rows(width, 10)), "\n"); got != want {
			t.Errorf("at %d columns:\n%s", width, got)
		}
	}
	commands := &list{choices: []choice{
		{label: "/model [NAME]", detail: "choose the model of the next turns"},
		{label: "/new", detail: "begin a new session"},
		{label: "/rewind", detail: "go back to before an earlier input"},
	}}
	want := `› /model [NAME]  choose the model of th…
    choose the model of the next turns
  /new           begin a new session
  /rewind        go back to before an e…`
	if got := strings.Join(texts(commands.rows(40, 10)), "\n"); got != want {
		t.Errorf("commands:\n%s", got)
	}
	if got := texts(commands.rows(40, 3)); got[2] != "  … 2 more" {
		t.Errorf("in three rows: %q", got)
	}
}

// Long names leave room for the other columns, which have their headings above them. Below 60 columns, the
// headings are beside the values.
func TestModelsFitNarrowTerminals(t *testing.T) {
	const long = "gateway/meta-llama/llama-4-maverick-17b-128e-instruct-fp8-turbo"
	models := &list{at: 1}
	for _, o := range []assemble.Offered{
		{Name: "a/one", Window: 8192},
		{
			Name: long, Window: 1_048_576, Price: &model.Price{Input: 0.27, Output: 0.85},
			Efforts: []string{"minimal", "high"},
		},
	} {
		one := choice{label: o.Name, detail: o.Columns(), group: assemble.OfferedColumns}
		models.choices = append(models.choices, one)
	}
	for width, want := range map[int]string{
		120: `  Model                                                            Window  $/M in / out  Effort
  a/one                                                            8192
› ` + long + `  1.05M   0.27 / 0.85   minimal to high`,
		80: `  Model                                    Window  $/M in / out  Effort
  a/one                                    8192
› gateway/meta-llama/…-instruct-fp8-turbo  1.05M   0.27 / 0.85   minimal to high
    ` + long,
		40: `  Model
  a/one
› gateway/meta-llama/…instruct-fp8-turbo
    Window 1.05M  $/M in / out 0.27 /
    0.85  Effort minimal to high
    gateway/meta-llama/llama-4-maverick-
    17b-128e-instruct-fp8-turbo`,
	} {
		if got := strings.Join(texts(models.rows(width, 10)), "\n"); got != want {
			t.Errorf("at %d columns:\n%s", width, got)
		}
	}
}

// Choices that have left the list are counted above and below it.
func TestListCountsChoicesAboveAndBelow(t *testing.T) {
	for group, want := range map[string]string{
		"":    "  … 3 more above|  d|› e|  f|  … 3 more",
		"One": "One|  … 4 more above|› e|  f|  … 3 more",
	} {
		l := &list{at: 4}
		for _, label := range strings.Split("abcdefghi", "") {
			l.choices = append(l.choices, choice{label: label, group: group})
		}
		if got := strings.Join(texts(l.rows(40, 5)), "|"); got != want {
			t.Errorf("group %q: %s", group, got)
		}
	}
}
