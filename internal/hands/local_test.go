package hands

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// local is this machine, with the environment that tests have.
func local(t *testing.T) *Local {
	t.Helper()
	return &Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "test-" + t.Name()}
}

func TestLocalRunsACommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p, err := local(t).Start(t.Context(), Command{
		Script: `pwd; echo "$WORD"; exit 3`, Dir: dir, Workdir: "below", Env: []string{"WORD=said"}, Output: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	<-p.Done()
	real, _ := filepath.EvalSymlinks(filepath.Join(dir, "below"))
	if err != nil || exit.Code != 3 || out.String() != real+"\nsaid\n" {
		t.Errorf("got %+v, %v, %q", exit, err, out.String())
	}
}

func TestLocalRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]Command{
		`cannot run in "none"`:         {Script: "true", Dir: dir, Workdir: "none"},
		"it would have to be confined": {Script: "true", Dir: dir, Sandbox: event.ReadOnly},
	} {
		p, err := local(t).Start(t.Context(), c)
		if err == nil {
			p.End(t.Context(), 0)
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	if _, err := local(t).Call(t.Context(), Request{Name: "dance"}); err == nil {
		t.Error("an unknown call did not fail")
	}
}

func TestLocalAwaitsPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if _, err := local(t).Call(t.Context(), Request{Name: Port, Args: []byte(port)}); err != nil {
		t.Error(err)
	}
}

// BenchmarkLocal is what a command costs through the seam, and without.
func BenchmarkLocal(b *testing.B) {
	l := &Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "bench"}
	shell, _ := findShell()
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			p, err := proc.Start(b.Context(), proc.Spec{Argv: append(shell, "true"), Dir: "/", Env: l.Env, Rest: proc.KeepRest, Marker: l.Marker})
			await(b, p, err)
		}
	})
	b.Run("hands", func(b *testing.B) {
		for b.Loop() {
			p, err := l.Start(b.Context(), Command{Script: "true", Dir: "/"})
			await(b, p, err)
		}
	})
}

func await(tb testing.TB, p *proc.Process, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := p.Wait(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	<-p.Done()
}
