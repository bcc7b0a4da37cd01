package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
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
		`cannot run in "none"`: {Script: "true", Dir: dir, Workdir: "none"},
		"it needs a sandbox":   {Script: "true", Dir: dir, Sandbox: event.ReadOnly},
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

// BenchmarkLocal measures a command with and without the executor.
func BenchmarkLocal(b *testing.B) {
	l := &Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "bench"}
	shell, _ := findShell()
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			p, err := proc.Start(
				b.Context(),
				proc.Spec{Argv: append(shell, "true"), Dir: "/", Env: l.Env, Rest: proc.KeepRest, Marker: l.Marker},
			)
			await(b, p, err)
		}
	})
	b.Run("remote", func(b *testing.B) {
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

// A command runs in the directory that its call was judged for, on this machine and on
// another one, or it does not run.
func TestWorkdirIsTheJudgedDirectory(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, outside := filepath.Join(top, "work"), filepath.Join(top, "outside")
	for _, dir := range []string{filepath.Join(work, "sub"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	judged := []event.ResolvedPath{{Path: filepath.Join(work, "sub"), Real: filepath.Join(work, "sub")}}
	c := Command{Dir: work, Workdir: "sub", Places: judged}
	if dir, err := c.dir(); err != nil || dir != filepath.Join(work, "sub") {
		t.Errorf("%q, %v", dir, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(work, "sub")), os.Symlink(outside, filepath.Join(work, "sub"))); err != nil {
		t.Fatal(err)
	}
	changed := (*disk.ChangedError)(nil)
	if dir, err := c.dir(); !errors.As(err, &changed) {
		t.Errorf("a link took its place: %q, %v", dir, err)
	}
	c.Places = []event.ResolvedPath{}
	if dir, err := c.dir(); !errors.As(err, &changed) {
		t.Errorf("judged by other paths: %q, %v", dir, err)
	}
	c.Places = nil
	if dir, err := c.dir(); err != nil || dir != outside {
		t.Errorf("judged by nobody: %q, %v", dir, err)
	}
	for _, places := range [][]event.ResolvedPath{nil, {}, judged} {
		var order startOrder // as it travels
		if err := json.Unmarshal(encode(startOrder{Places: places}), &order); err != nil ||
			!reflect.DeepEqual(order.command().Places, places) {
			t.Errorf("%v became %v, %v", places, order.command().Places, err)
		}
	}
}
