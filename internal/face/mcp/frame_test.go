package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is too long is skipped, and only that.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	l := newLines(strings.NewReader("one\n\n  two \r\n" + long + "\nthree\n" + strings.Repeat("y", 100) + "\nfour"))
	l.most = 90
	var got []string
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(line))
	}
	want := []string{"one", "two", errLong.Error(), "three", errLong.Error(), "four"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzLines: every line is read once, whole or not at all, and reading ends.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "\n", "{}\n{}", "a\r\nb", strings.Repeat("z", 70)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := newLines(strings.NewReader(text))
		l.most = 64
		for {
			line, err := l.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && (len(line) == 0 || len(line) > l.most || strings.Contains(string(line), "\n") || !strings.Contains(text, string(line))) {
				t.Fatalf("%q in %q", line, text)
			}
			if err != nil && !errors.Is(err, errLong) {
				t.Fatal(err)
			}
		}
	})
}

// Requests are admitted as they came, but for those whose order does not
// matter.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		first, second kind
		waits         bool
	}{
		{starts, starts, false},
		{touches, starts, true},
		{submits, starts, false},
		{ends, starts, false},
		{starts, submits, true},
		{submits, submits, true},
		{touches, submits, true},
		{ends, submits, true},
		{starts, touches, true},
		{submits, touches, true},
		{touches, touches, true},
		{ends, touches, false},
	} {
		var o order
		first, second := o.enter(c.first), o.enter(c.second)
		if waits := len(second.before) > 0; waits != c.waits {
			t.Errorf("%s after %s: waits %v", c.second, c.first, waits)
		}
		first.admit()
		first.admit()
		if err := second.wait(t.Context()); err != nil {
			t.Error(err)
		}
		second.admit()
		if len(o.open) > 0 {
			t.Errorf("%d places are open", len(o.open))
		}
	}
}
