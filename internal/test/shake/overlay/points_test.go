package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `package p

import "sync"

type t struct {
	mu sync.Mutex
	c  chan int
}

func (x *t) f() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if v := <-x.c; v > 0 {
		go func() { x.g() }()
	}
	x.plain()
}

func (x *t) g() {
	x.mu.Lock()
	x.plain()
	x.mu.Unlock()
	select {
	case x.c <- 1:
	case <-x.c:
		return
	}
}

func (x *t) plain() {}
`

// Points stand before and after the operations at which goroutines meet, on the same lines.
func TestPoints(t *testing.T) {
	s, err := parse("p/p.go", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	text, points := s.withPoints()
	want := strings.NewReplacer(
		"package p", `package p; import shakePackage "github.com/settle-agent/settle/internal/test/shake"`,
		"	x.mu.Lock()", "	P;x.mu.Lock()",
		"	if v", "	P;if v",
		"go func() { x.g() }()", "P;go func() { P; x.g() }();P",
		"	x.mu.Unlock()", "	P;x.mu.Unlock();P",
		"	select {", "	P;select {",
		"case x.c <- 1:", "case x.c <- 1: P;",
		"case <-x.c:", "case <-x.c: P;",
	).Replace(strings.Replace(example, "defer x.mu.Unlock()", "deferred", 1))
	want = strings.Replace(want, "deferred", "defer x.mu.Unlock()", 1)
	if diff := cmp.Diff(want, strings.ReplaceAll(string(text), point, "P")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := strings.Count(string(text), point); n != points {
		t.Errorf("it has %d points and says %d", n, points)
	}
	want2 := []lines{{"p/p.go", 12, 17}, {"p/p.go", 21, 22}}
	if diff := cmp.Diff(want2, s.held(), cmp.AllowUnexported(lines{})); diff != "" {
		t.Errorf("held (-want +got)\n%s", diff)
	}
}

// The overlay of this module is Go, and names files that exist.
func TestOverlay(t *testing.T) {
	root, dir := filepath.Join("..", "..", "..", ".."), t.TempDir()
	points, err := write(root, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if points < 356 {
		t.Errorf("only %d points", points)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	for name, target := range overlay.Replace {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), target, nil, 0); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"host.go", "internal/session/session.go", "internal/turn/call.go", "internal/journal/log.go", "internal/assemble/limit.go", "model/transport/stream.go", "internal/test/shake/lines.go"} {
		at, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if overlay.Replace[at] == "" {
			t.Errorf("%s is left out", name)
		}
	}
}
