//go:build machine

package tui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/terminal"
)

// paneVar makes the test binary the program in a pane of tmux: it connects the
// terminal with the test.
const paneVar = "SETTLE_TUI_PANE"

func init() { // before the flags of a test binary are looked at
	if socket := os.Getenv(paneVar); socket != "" {
		os.Exit(pane(socket))
	}
}

func pane(socket string) int {
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return 1
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 1
	}
	go func() { _, _ = io.Copy(conn, os.Stdin) }() // ends with the process
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

// tmux is a terminal in tmux.
type tmux struct {
	t      *testing.T
	name   string // of the server
	conn   net.Conn
	answer *bufio.Reader
}

// patience bounds the time of another program.
const patience = 30 * time.Second

func newTmux(t *testing.T) *tmux {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "pane")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	x := &tmux{t: t, name: filepath.Join(dir, "tmux")}
	x.run("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-e", paneVar+"="+socket, os.Args[0])
	t.Cleanup(
		func() { _ = exec.Command("tmux", "-S", x.name, "kill-server").Run() },
	) // it may be gone before it answers
	if x.conn, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = x.conn.Close(), listener.Close() })
	x.answer = bufio.NewReader(x.conn)
	return x
}

func (x *tmux) run(args ...string) string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", x.name}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// Write writes a frame, and waits until tmux has it: until it reports the position of the cursor.
func (x *tmux) Write(frame []byte) (int, error) {
	if err := x.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := x.conn.Write(append(append([]byte(nil), frame...), "\x1b[6n"...)); err != nil {
		return 0, err
	}
	if _, err := x.answer.ReadString('R'); err != nil {
		return 0, err
	}
	return len(frame), nil
}

func (x *tmux) Resize(width, height int) {
	x.run("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

func (x *tmux) Rows() []string {
	return strings.Split(x.run("capture-pane", "-p", "-J", "-S", "-", "-E", "-"), "\n")
}

func (x *tmux) Reset(width, height int) {
	x.run("set-option", "-g", "history-limit", "50000")
	x.Resize(width, height)
	if _, err := x.Write([]byte("\x1bc")); err != nil {
		x.t.Fatal(err)
	}
	x.run("clear-history")
}

// xterm is xterm.js without a screen.
type xterm struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func newXterm(t *testing.T) *xterm {
	t.Helper()
	dir, err := filepath.Abs("testdata/xterm")
	if err != nil {
		t.Fatal(err)
	}
	modules := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "terminal.js"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(modules, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	install := exec.CommandContext(
		ctx, "npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps",
	)
	install.Dir = modules
	if out, err := install.CombinedOutput(); err != nil {
		cancel()
		t.Fatalf("npm ci: %v: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, "node", "terminal.js")
	cmd.Dir, cmd.Stderr = modules, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	x := &xterm{t, in, bufio.NewScanner(out)}
	x.out.Buffer(nil, 64<<20)
	return x
}

// ask has the program do something and returns its answer.
func (x *xterm) ask(do map[string]any) (answer []string) {
	x.t.Helper()
	line, err := json.Marshal(do)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := x.in.Write(append(line, '\n')); err != nil {
		x.t.Fatal(err)
	}
	if !x.out.Scan() {
		x.t.Fatalf("xterm.js says nothing: %v", x.out.Err())
	}
	if err := json.Unmarshal(x.out.Bytes(), &answer); err != nil {
		x.t.Fatalf("xterm.js says %q", x.out.Text())
	}
	return answer
}

func (x *xterm) Write(frame []byte) (int, error) {
	x.ask(map[string]any{"write": string(frame)})
	return len(frame), nil
}

func (x *xterm) Resize(width, height int) { x.ask(map[string]any{"resize": []int{width, height}}) }
func (x *xterm) Rows() []string           { return x.ask(map[string]any{"rows": true}) }
func (x *xterm) Reset(width, height int)  { x.ask(map[string]any{"reset": []int{width, height}}) }

// The law, in real terminals.
func TestRealTerminalsEqualLog(t *testing.T) {
	for name, oracle := range map[string]struct {
		open   func(*testing.T) realTerminal
		reflow terminal.Reflow
	}{
		"tmux":     {func(t *testing.T) realTerminal { return newTmux(t) }, terminal.ReflowAll},
		"xterm.js": {func(t *testing.T) realTerminal { return newXterm(t) }, terminal.ReflowOthers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real, rows := oracle.open(t), 0
			for seed := range drawn() {
				r := rand.New(rand.NewPCG(seed, 3))
				width, height := drawSize(r)
				real.Reset(width, height)
				rows += playOn(t, real, oracle.reflow, seed, width, height)
			}
			t.Logf("%d sessions, %d rows", *sessions, rows)
		})
	}
}

// realTerminal is a terminal that can be emptied.
type realTerminal interface {
	screen
	Reset(width, height int)
}
