package claude

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// For any input, each line is passed on once, in order, or reported as bad.
func FuzzRead(f *testing.F) {
	f.Add([]byte(user("hi", uuid1) + "\n" + control("c", `{"subtype":"interrupt"}`) + "\n"))
	f.Add([]byte("nonsense\n\n{\"type\":\"user\"}"))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","data":"!"}}]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		want := 0
		for line := range bytes.Lines(in) {
			if len(bytes.TrimSpace(line)) > 0 {
				want++
			}
		}
		got := 0
		err := read(bytes.NewReader(in), func(m incoming) bool {
			got++
			if m.bad == nil {
				_, _ = content(m.Message) // a prompt or an error
			}
			return true
		})
		if !errors.Is(err, io.EOF) || got != want {
			t.Errorf("%d lines, want %d: %v", got, want, err)
		}
	})
}

// For any list of a client, a rule is about a tool that settle has, and nothing of the list is
// lost.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"Read,Bash(git log:*)", "Edit(//x) Write((a,b))", "Bash(", "),(", "WebFetch(domain:x)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := specs(text)
		for _, one := range list {
			if strings.TrimSpace(one) != one || one == "" {
				t.Errorf("%q is part of %q", one, text)
			}
			set := rulesFor("allow", []string{one})
			if len(set.rules) == 0 && len(set.unknown) == 0 {
				t.Errorf("%q is lost", one)
			}
			for _, r := range set.rules {
				if aliasOf(r.Tool).claude == r.Tool {
					t.Errorf("%q is a rule for %q", one, r.Tool)
				}
			}
		}
	})
}
