package tui

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/modeltest"
)

// window is a terminal of a size that reports each write.
type window struct {
	io.Reader
	grid          *terminaltest.Grid
	width, height int
	all           bytes.Buffer
	wrote         chan struct{} // each write waits until the test has looked at it
	seen          chan struct{}
}

func (w *window) Write(data []byte) (int, error) {
	w.all.Write(data)
	n, err := w.grid.Write(data)
	w.wrote <- struct{}{}
	<-w.seen
	return n, err
}
func (w *window) Size() (int, int) { return w.width, w.height }
func (w *window) Take() error      { return nil }
func (w *window) Restore()         {}

// setupAt runs a setup in a window. It types keys[n][1] once keys[n][0] is on the screen, and
// returns the rows and all bytes at the end.
func setupAt(t *testing.T, width int, servers []setup.Server, keys [][2]string) (rows, bytes, dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	r, err := config.Load(config.Input{Dir: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": dir}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	in, typed := io.Pipe()
	w := &window{
		Reader: in, grid: terminaltest.NewGrid(width, 24), width: width, height: 24, wrote: make(chan struct{}), seen: make(chan struct{}),
	}
	done := make(chan error)
	go func() { // the test waits for it
		o := Options{Terminal: w, Palette: terminal.Palette{Color: true, Attributes: true}}
		done <- Setup(context.Background(), o, setup.Setup{
			Options: assemble.Options{Settings: r, Getenv: func(string) string { return "" }}, Servers: servers,
		})
		_ = in.Close()
	}()
	for next := 0; ; {
		select {
		case <-w.wrote:
			if next < len(keys) && strings.Contains(strings.Join(w.grid.Rows(), "\n"), keys[next][0]) {
				go func(text string) { _, _ = io.WriteString(typed, text) }(keys[next][1]) // ends with the setup
				next++
			}
			w.seen <- struct{}{}
		case err := <-done:
			if next < len(keys) {
				t.Errorf("%q was never on the screen", keys[next][0])
			}
			if len(w.grid.Mistakes) > 0 {
				t.Errorf("mistakes: %q", w.grid.Mistakes)
			}
			return strings.Join(w.grid.Rows(), "\n"), w.all.String(), dir, err
		}
	}
}

// The setup fits windows of each width, a hidden text is never written to the terminal, and given
// answers stay as rows.
func TestSetupOnScreen(t *testing.T) {
	const key = "sk-hidden-0123456789"
	for _, width := range []int{40, 80, 120} {
		script := modeltest.Script(modeltest.Say("ready"))
		script.Rules.Keys = []string{key}
		server := modeltest.NewServer(t, script)
		rows, all, dir, err := setupAt(t, width, nil, [][2]string{
			{"Provider:  Enter", "anoth\r"},
			{"Address, such as", server.OpenAI() + "?x\r"},
			{"✗ an address", "\x7f\x7f\r"}, // the text was kept
			{"need a key?", "\x1b[B\r"},
			{"(it is not shown):", "\x1b[200~" + key + "\n\x1b[201~"},
			{"20 characters", "\r"},
			{"  Model", "\r"}, // the heading
		})
		if err != nil {
			t.Fatalf("at %d columns: %v\n%s", width, err, rows)
		}
		if strings.Contains(all, "sk-hidden") {
			t.Errorf("the key was written to the terminal")
		}
		for _, want := range []string{
			"– no key: ANTHROPIC", "Another server", "20 characters", "✓ settle uses chat/fake-model",
		} {
			if !strings.Contains(strings.Join(strings.Fields(rows), " "), want) {
				t.Errorf("at %d columns, %q is not on the screen:\n%s", width, want, rows)
			}
		}
		if content, err := os.ReadFile(filepath.Join(dir, "settle", "keys", "chat.key")); string(content) != key+"\n" {
			t.Errorf("the kept key is %q, %v", content, err)
		}
	}
}

// Esc goes back to the question before, Ctrl-C leaves; nothing was written.
func TestSetupLeft(t *testing.T) {
	rows, all, dir, err := setupAt(t, 80, nil, [][2]string{
		{"Provider:  Enter chooses, Esc leaves", "openai\r"},
		{"key for OpenAI?  Enter chooses, Esc goes back", "sk-letters"},
		{"Typed letters are not shown", "\r"},
		{"(it is not shown):", "sk-typed-0123"},
		{"13 characters", "\x1b"},
		{"key for OpenAI?", "\x1b"},
		{"Provider:  Enter", "\x03"},
	})
	if entries, _ := os.ReadDir(dir); err != setup.ErrLeft || len(entries) > 0 { //nolint:errorlint // it is not wrapped
		t.Errorf("%v, %v\n%s", err, entries, rows)
	}
	if strings.Contains(all, "sk-") {
		t.Error("the key was written to the terminal")
	}
}

// A key that is pasted at the question how to give it is taken, and never written.
func TestSetupTakesPasteAtMenu(t *testing.T) {
	_, all, _, err := setupAt(t, 80, nil, [][2]string{
		{"Provider:  Enter", "openai\r"},
		{"key for OpenAI?", "\x1b[200~sk-pasted-0123\n\x1b[201~"},
		{"14 characters", "\x03"},
	})
	if err != setup.ErrLeft || strings.Contains(all, "sk-") { //nolint:errorlint // it is not wrapped
		t.Errorf("%v: the key was written: %t", err, strings.Contains(all, "sk-"))
	}
}

// The plain setup asks by numbers.
func TestPlainSetup(t *testing.T) {
	var out strings.Builder
	lines := []string{"what", "2", "/back", "/quit"}
	p := PlainSetup{Out: &out, Line: func(context.Context, bool) (string, error) {
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
	q := setup.Question{Title: "Model", Choices: []setup.Choice{
		{ID: "a", Label: "A"}, {ID: "b", Label: "B", Detail: "  x"},
	}}
	if got, err := p.Ask(t.Context(), q); got != "b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := p.Ask(t.Context(), q); err != setup.ErrBack { //nolint:errorlint // it is not wrapped
		t.Error(err)
	}
	if _, err := p.Ask(t.Context(), q); err != setup.ErrLeft { //nolint:errorlint // it is not wrapped
		t.Error(err)
	}
	p.Say("✓ done", "– none")
	if !strings.Contains(out.String(), "1. A\n2. B  x\n") || !strings.HasSuffix(out.String(), "Yes: done\nNo: none\n") {
		t.Errorf("%q", out.String())
	}
	q.Columns = "Name\tSize\tUse"
	q.Choices = []setup.Choice{{ID: "a", Label: "A", Detail: "3\t"}}
	lines = []string{"1"}
	got, err := p.Ask(t.Context(), q)
	if got != "a" || err != nil || !strings.Contains(out.String(), "1. A  Size 3\n") {
		t.Errorf("%q, %v: %s", got, err, out.String())
	}
}
