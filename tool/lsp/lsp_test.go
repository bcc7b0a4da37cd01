package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/lsp"
)

// patience bounds the wait for an event; no test waits that long.
const patience = time.Minute

// session has the fake server for Go files, in a mode.
type session struct {
	*lsp.Servers

	dir    string
	starts *int
	rules  *rules
}

// rules are the rules of a session; tests change them between edits.
type rules struct {
	tightened bool   // running servers cannot run on
	refused   error  // none can start
	during    func() // called when a job begins
}

func open(t *testing.T, mode string, timeout time.Duration) session {
	t.Helper()
	return openOf(t, "gopls", mode, timeout)
}

// openOf opens a session whose fake server is the named one.
func openOf(t *testing.T, server, mode string, timeout time.Duration) session {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	starts, now := 0, rules{}
	s := lsp.Open(lsp.Config{
		Dir: dir, Marker: t.Name(),
		Env:       func() []string { return []string{"PATH=" + os.Getenv("PATH"), fakeMode + "=" + mode} },
		Languages: lsp.Installed([]string{server}, func(string) (string, error) { return self, nil }),
		Timeout:   timeout,
	}.Under(func() (lsp.Launch, error) {
		now.tightened = false
		return lsp.NewLaunch(func(ctx context.Context, spec proc.Spec) (*proc.Process, error) {
			starts++
			return proc.Start(ctx, spec)
		}, func() bool {
			holds := !now.tightened
			if now.during != nil {
				now.during()
			}
			return holds
		}), now.refused
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return session{s, dir, &starts, &now}
}

// edit writes a file and returns the server's report about it.
func (s session) edit(t *testing.T, name, before, after string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	e := lsp.Edit{Path: path, Before: []byte(before), After: []byte(after)}
	if before == "" {
		e.Before = nil
	}
	return s.Check(t.Context(), []lsp.Edit{e})
}

func want(t *testing.T, what, want, got string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// The model receives errors that an edit made, and no others.
func TestCheckReportsNewErrors(t *testing.T) {
	for _, mode := range []string{"ok", "no versions"} {
		t.Run(mode, func(t *testing.T) {
			s, doubt := open(t, mode, patience), ""
			if mode == "no versions" {
				doubt = "\nit does not name versions of a text: errors of a changed file can be from before the edit"
			}
			want(t, "errors from before", "gopls: no new errors (1 from before)",
				s.edit(t, "a.go", "ERROR old", "WARNING fine\n\nERROR old"))
			want(t, "a new one", "gopls: 1 new error\na.go:2:3: undefined: x"+doubt,
				s.edit(t, "a.go", "", "ERROR old\nERROR undefined: x"))
			want(t, "it is known", "gopls: no new errors (2 from before)",
				s.edit(t, "a.go", "", "\n\nERROR undefined: x\nERROR old"))
			want(t, "a second of its kind", "gopls: 1 new error\na.go:2:3: old"+doubt,
				s.edit(t, "a.go", "", "ERROR old\nERROR old"))
			want(t, "in another file", "gopls: 1 new error\nc.go:1:3: broken from elsewhere",
				s.edit(t, "b.go", "", "BREAKS c.go"))
			want(t, "a new file", "gopls: 1 new error\nd.go:1:3: \u241b[2J escapes",
				s.edit(t, "d.go", "", "ERROR \x1b[2J  escapes"))
			if *s.starts != 1 {
				t.Errorf("the server was started %d times", *s.starts)
			}
		})
	}
}

// A server that first publishes no errors of a new file has not judged it.
func TestCheckWaitsForReportedWork(t *testing.T) {
	s := open(t, "gopls", patience)
	want(t, "the first file", "gopls: 1 new error\na.go:1:3: x", s.edit(t, "a.go", "", "ERROR x"))
	want(t, "a new file", "gopls: 1 new error\nb.go:1:3: y", s.edit(t, "b.go", "", "ERROR y"))
	want(t, "an edit", "gopls: 1 new error\nb.go:2:3: z", s.edit(t, "b.go", "ERROR y", "ERROR y\nERROR z"))
	want(t, "another", "gopls: no new errors (2 from before)", s.edit(t, "b.go", "ERROR y\nERROR z", "ERROR y"))
	path := filepath.Join(s.dir, "b.go")
	want(t, "a removed file", "gopls: no new errors (2 from before)",
		s.Check(t.Context(), []lsp.Edit{{Path: path, Before: []byte("ERROR y")}}))
}

// A server that works on has no answer yet.
func TestCheckDuringEndlessWork(t *testing.T) {
	s := open(t, "works on", 300*time.Millisecond)
	note := s.edit(t, "a.go", "fine", "ERROR x")
	if !strings.HasPrefix(note, "gopls: no answer within 300ms (") {
		t.Errorf("got %q", note)
	}
}

// gopls ignores files that the go command ignores: no error of them is no news.
func TestCheckNamesIgnoredFiles(t *testing.T) {
	s := open(t, "ok", patience)
	const ignored = "gopls: testdata/a.go is in a folder that it does not check"
	check := func(names ...string) string {
		var edits []lsp.Edit
		for _, name := range names {
			edits = append(edits, lsp.Edit{Path: filepath.Join(s.dir, name), After: []byte("ERROR x")})
		}
		return s.Check(t.Context(), edits)
	}
	want(t, "alone", ignored, check("testdata/a.go"))
	want(t, "with another", "gopls: 1 new error\nb.go:1:3: x\n"+ignored, check("testdata/a.go", "b.go"))
	want(t, "others", "gopls: _x/a.go is in a folder that it does not check\n"+
		"gopls: b/.x/a.go is in a folder that it does not check", check("_x/a.go", "b/.x/a.go"))
	outside := filepath.Join(filepath.Dir(s.dir), "lib", "a.go")
	want(t, "a file beside the directory", "gopls: 1 new error\n"+outside+":1:3: x", check("../lib/a.go"))
}

func TestCheckOfFirstNewFile(t *testing.T) {
	s := open(t, "ok", patience)
	want(t, "its errors are new", "gopls: 1 new error\na.go:1:3: x", s.edit(t, "a.go", "", "ERROR x"))
	want(t, "no server", "", s.edit(t, "a.txt", "", "ERROR x"))
	many := strings.Repeat("ERROR y\n", 12)
	if note := s.edit(t, "a.go", "", many); !strings.HasPrefix(note, "gopls: 12 new errors\na.go:1:3: y\n") ||
		!strings.HasSuffix(note, "\nand 2 more") {
		t.Errorf("many errors: %q", note)
	}
	long := "ERROR " + strings.Repeat("é", 10_000)
	if note := s.edit(t, "a.go", "", long); len(note) > 400 {
		t.Errorf("a long error has %d bytes", len(note))
	}
}

// A server that fails in any way is a note, and never delays a call beyond the timeout.
func TestCheckOfHostileServers(t *testing.T) {
	for mode, says := range map[string]string{
		"dies at start":  "it exited with code 3; its standard error ends: no such toolchain",
		"dies":           "it exited with code 2; its standard error ends: panic: nil map",
		"garbage":        "the server sent something that is not a message",
		"announces":      "the server announced a message of \"999999999999\" bytes; at most 8388608 are read",
		"negative":       "the server announced a message of \"-5\" bytes",
		"endless header": "the server sent something that is not a message",
		"publishes much": "it sent 2097236 bytes with \"textDocument/publishDiagnostics\"; at most 1048576 are read",
	} {
		t.Run(mode, func(t *testing.T) {
			s := open(t, mode, patience)
			for range 2 {
				note := s.edit(t, "a.go", "ERROR old", "ERROR new")
				if !strings.Contains(note, says) || !strings.HasSuffix(note, "; it starts again when it is needed") {
					t.Errorf("got %q, want %q", note, says)
				}
			}
			if note := s.edit(t, "a.go", "ERROR old", "ERROR new"); !strings.Contains(note,
				"it failed 3 times and is not started again in this session") {
				t.Errorf("the third time: %q", note)
			}
			want(t, "the fourth time", "", s.edit(t, "a.go", "ERROR old", "ERROR new"))
			if _, err := s.ask(t, t.Context(), lsp.Arguments{Action: "symbols", Path: "a.go"}); err == nil ||
				!strings.Contains(err.Error(), "is not started again") {
				t.Errorf("the tool: %v", err)
			}
			if *s.starts != 3 {
				t.Errorf("the server was started %d times, want 3", *s.starts)
			}
		})
	}
}

// A server cannot make settle use much more memory than a message has.
func TestCheckBoundsWhatServersPublish(t *testing.T) {
	s := open(t, "long names", patience)
	before := allocated()
	want(t, "no path is that long", "gopls: no new errors", s.edit(t, "a.go", "", "fine"))
	if used := allocated() - before; used > 64<<20 {
		t.Errorf("a URI of 900 KiB with 200 errors allocated %d bytes", used)
	}
	s = open(t, "many errors", patience)
	want(t, "the note", "gopls: no new errors (20000 from before)\n"+
		"it reports more errors than settle can compare: some can be missing here", s.edit(t, "a.go", "", "fine"))
}

func TestToolBoundsAnswers(t *testing.T) {
	s := open(t, "long answers", patience)
	s.edit(t, "a.go", "", "Thing")
	ask := func(action string) string {
		got, err := s.ask(t, t.Context(), lsp.Arguments{Action: action, Path: "a.go", Name: "Thing"})
		if err != nil {
			return "error: " + err.Error()
		}
		return got
	}
	before := allocated()
	want(t, "millions of symbols", "error: gopls: it sent more than 20000 symbols", ask("symbols"))
	if used := allocated() - before; used > 128<<20 {
		t.Errorf("an answer of 6 MB allocated %d bytes", used)
	}
	got := ask("definition")
	if len(got) > 600 || !strings.HasPrefix(got, "/xxx") || !strings.HasSuffix(got, "…:2:") {
		t.Errorf("a long path: %d bytes, %.700q", len(got), got)
	}
	got = ask("references")
	if !strings.HasPrefix(got, "error: gopls: xxx") || len(got) > 400 {
		t.Errorf("a long error: %d bytes, %.700q", len(got), got)
	}
}

// allocated returns the bytes that this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A server that the user's rules do not allow any longer is ended before the next job, and
// started again once they allow one.
func TestServersFollowTheRules(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "ERROR old")
	s.rules.tightened = true
	want(t, "under other rules", "gopls: 1 new error\na.go:2:3: new",
		s.edit(t, "a.go", "ERROR old", "ERROR old\nERROR new"))
	if *s.starts != 2 {
		t.Errorf("the server was started %d times, want 2", *s.starts)
	}
	*s.rules = rules{tightened: true, refused: errors.New("not started: no sandbox")}
	for range 4 {
		want(t, "without permission", "gopls: not started: no sandbox", s.edit(t, "a.go", "", "fine"))
	}
	if _, err := s.ask(t, t.Context(), lsp.Arguments{Action: "symbols", Path: "a.go"}); err == nil {
		t.Error("the tool answers without permission")
	}
	s.rules.refused = nil
	want(t, "with permission again", "gopls: no new errors", s.edit(t, "a.go", "", "fine"))
	if *s.starts != 3 {
		t.Errorf("the server was started %d times, want 3", *s.starts)
	}
}

func TestCheckOfSilentServers(t *testing.T) {
	for mode, doing := range map[string]string{"silent": "it loads the project", "hangs at start": "it starts"} {
		t.Run(mode, func(t *testing.T) {
			s := open(t, mode, 100*time.Millisecond)
			note := s.edit(t, "a.go", "", "ERROR new")
			if !strings.HasPrefix(note, "gopls: no answer within 100ms ("+doing+" for ") {
				t.Errorf("got %q", note)
			}
		})
	}
}

// C9: an interrupt ends the wait.
func TestCheckEndsWithInterrupt(t *testing.T) {
	s := open(t, "silent", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string)
	go func() { said <- s.Check(ctx, []lsp.Edit{{Path: filepath.Join(s.dir, "a.go"), After: []byte("x")}}) }()
	cancel()
	want(t, "the note", "gopls: the check of the errors was interrupted", <-said)
}

// A publication about an earlier text that arrives after that of the present one is not used, not
// for a file that was closed between them either.
func TestCheckIgnoresPublicationsOfEarlierTexts(t *testing.T) {
	s := open(t, "late", patience)
	want(t, "the first edit", "gopls: 1 new error\na.go:1:3: first", s.edit(t, "a.go", "fine", "ERROR first"))
	want(t, "the mend", "gopls: no new errors", s.edit(t, "a.go", "", "fine"))
	if err := os.WriteFile(filepath.Join(s.dir, "a.go"), []byte("ERROR from elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "another file, after a change of the first from elsewhere", "gopls: no new errors",
		s.edit(t, "b.go", "fine", "fine\n"))
	want(t, "again", "gopls: 1 new error\na.go:1:3: second", s.edit(t, "a.go", "", "ERROR second"))
}

// An answer that came too late is in the next one.
func TestCheckReportsLateErrors(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "fine")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(s.dir, "a.go")
	s.Check(gone, []lsp.Edit{{Path: path, Before: []byte("fine"), After: []byte("ERROR late")}})
	want(t, "the next edit", "gopls: 1 new error\na.go:1:3: late", s.edit(t, "a.go", "", "ERROR late\n"))
}

// Errors that were found and not delivered are not lost with the server that found them.
func TestCheckReportsLateErrorsAfterRestart(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "fine")
	for _, e := range []struct{ name, before, after string }{
		{"a.go", "fine", "ERROR late"},
		{"b.go", "ERROR old", "ERROR old\nERROR other"},
		{"a.go", "ERROR late", "ERROR late\n"},
	} {
		path := filepath.Join(s.dir, e.name)
		if err := os.WriteFile(path, []byte(e.after), 0o600); err != nil {
			t.Fatal(err)
		}
		leaving, leave := context.WithCancel(t.Context())
		s.rules.during = leave
		s.Check(leaving, []lsp.Edit{{Path: path, Before: []byte(e.before), After: []byte(e.after)}})
	}
	s.rules.during, s.rules.tightened = nil, true
	want(t, "the next edit", "gopls: 2 new errors\na.go:1:3: late\nb.go:2:3: other",
		s.edit(t, "a.go", "ERROR late\n", "ERROR late\n\n"))
	want(t, "the one after", "gopls: no new errors (3 from before)",
		s.edit(t, "a.go", "ERROR late\n\n", "ERROR late\n"))
	if *s.starts != 2 {
		t.Errorf("the server was started %d times, want 2", *s.starts)
	}
}

func TestCloseEndsServersAndRefusesWork(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "fine")
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "later", "", s.edit(t, "a.go", "", "ERROR x"))
	var none *lsp.Servers
	want(t, "no servers", "", none.Check(t.Context(), []lsp.Edit{{Path: "/a.go"}}))
	if err := none.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func (s session) ask(t *testing.T, ctx context.Context, in lsp.Arguments) (string, error) {
	t.Helper()
	set, err := tool.NewSet(s.Tool())
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Run(ctx, tool.Call{ID: "c", Name: lsp.Name, Args: args, Dir: s.dir})
	if r.Aborted {
		return "aborted", err
	}
	return r.Output, err
}

func TestTool(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "func Thing()\nvar x = pkg.Thing\n")
	if err := os.WriteFile(filepath.Join(s.dir, "go.mod"), []byte("module m"), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "b.go")
	if err := os.WriteFile(outside, []byte("Thing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   lsp.Arguments
		want string
	}{
		{lsp.Arguments{Action: "definition", Path: "a.go", Line: 2, Name: "pkg.Thing"}, "a.go:2: var x = pkg.Thing"},
		{lsp.Arguments{Action: "references", Path: "a.go", Name: "Thing"}, "/etc/passwd:1:"},
		{lsp.Arguments{Action: "symbols", Path: "a.go"}, "4: class Thing\u241b[2J\n  1: method method"},
		{lsp.Arguments{Action: "symbols", Name: "thing"}, "4: class Thing\u241b[2J\n  1: method method"},
		{lsp.Arguments{Action: "definition", Name: "nothing"}, `no symbol of the project is named "nothing"`},
		{lsp.Arguments{Action: "definition"}, "error: name the symbol; symbols also takes a path alone"},
		{
			lsp.Arguments{Action: "definition", Path: "a.txt", Name: "x"},
			`error: no installed language server serves "a.txt"`,
		},
		{lsp.Arguments{Action: "definition", Path: "a.go", Name: "none"}, `error: there is no "none" in "a.go"`},
		{
			lsp.Arguments{Action: "definition", Path: "a.go", Line: 1, Name: "x"},
			`error: line 1 is "func Thing()": there is no "x" in "a.go"`,
		},
		{
			lsp.Arguments{Action: "symbols", Path: "link.go"},
			`error: "link.go" is outside of the working directory`,
		},
	} {
		got, err := s.ask(t, t.Context(), c.in)
		if err != nil {
			got = "error: " + err.Error()
		}
		want(t, fmt.Sprintf("%+v", c.in), c.want, got)
	}
}

// Symbols of the project come before symbols of libraries, which can have thousands.
func TestToolPrefersSymbolsOfProject(t *testing.T) {
	s := open(t, "libraries", patience)
	s.edit(t, "a.go", "", "func Add()\n")
	if err := os.WriteFile(filepath.Join(s.dir, "go.mod"), []byte("module m"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(action, name string) string {
		got, err := s.ask(t, t.Context(), lsp.Arguments{Action: action, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want(t, "one in the project", "a.go:1: function Add", ask("symbols", "Add"))
	want(t, "its definition", "a.go:1: function Add", ask("definition", "Add"))
	want(t, "its references", "/etc/passwd:1:", ask("references", "Add"))
	got := ask("symbols", "Other")
	if n := strings.Count(got, "\n"); n != 40 || !strings.HasSuffix(got, "\nand more: a longer name finds fewer") {
		t.Errorf("only in libraries: %d lines, %q", n, got)
	}
}

// C9: an interrupt ends a call that the server does not answer.
func TestToolEndsWithInterrupt(t *testing.T) {
	s := open(t, "never answers", patience)
	s.edit(t, "a.go", "", "Thing")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := s.ask(t, ctx, lsp.Arguments{Action: "definition", Path: "a.go", Name: "Thing"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the call", "aborted", got)
	want(t, "the next edit", "gopls: no new errors", s.edit(t, "a.go", "", "Thing2"))
}

// A file that a command changed is read from the disk again.
func TestCheckFollowsOtherChanges(t *testing.T) {
	s := open(t, "ok", patience)
	s.edit(t, "a.go", "", "ERROR x")
	if err := os.WriteFile(filepath.Join(s.dir, "a.go"), []byte("fine, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.edit(t, "b.go", "", "fine")
	// The server reads a.go anew: the edit's text is sent as a whole.
	want(t, "the next edit", "gopls: no new errors (1 from before)", s.edit(t, "a.go", "", "ERROR x"))
}

// The note of a server that still works says so, and the server answers the next calls.
func TestCheckNamesUnfinishedWork(t *testing.T) {
	s := openOf(t, "pyright-langserver", "saves forever", 10*time.Second)
	want(t, "the edit", "pyright-langserver: 1 new error\na.py:1:3: x\n"+
		"it has not finished its work: errors can be missing here, or be from before the edit",
		s.edit(t, "a.py", "fine", "ERROR x"))
	if got, err := s.ask(t, t.Context(), lsp.Arguments{Action: "symbols", Path: "a.py"}); err != nil || got == "" {
		t.Errorf("the next call: %q, %v", got, err)
	}
}
