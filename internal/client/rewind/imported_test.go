package rewind

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// importAgain imports the session's log, with the directory of the log replaced, and continues
// with the copy.
func (b *bench) importAgain(dir string) {
	b.Helper()
	var text bytes.Buffer
	for e, err := range journal.Read(b.Context(), b.data, b.session, 0) {
		if err != nil {
			b.Fatal(err)
		}
		if opened, ok := e.Data.(event.SessionOpened); ok {
			opened.Dir = dir
			e.Data = opened
		}
		if err := json.NewEncoder(&text).Encode(e); err != nil {
			b.Fatal(err)
		}
	}
	file := filepath.Join(b.TempDir(), "log.jsonl")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.session = settle.NewSessionID()
	if err := store.Import(b.Context(), b.data, file, b.session, event.SessionOpened{Dir: b.dir}); err != nil {
		b.Fatal(err)
	}
}

// A log of another machine, or of an attacker, names files and their contents. A rewind changes
// nothing for it: not in the folder that the log names, not in a copy of a copy, and not after the
// copy is exported and imported once more. It undoes changes after the import.
func TestRewindChangesNothingForImportedLog(t *testing.T) {
	b := work(t, nil, []call{write("known.txt", "known\n")})
	victim := t.TempDir()
	here := b.dir
	b.importAgain(victim)
	b.dir = victim
	b.put("known.txt", "known\n")
	keeps := func(what string) {
		t.Helper()
		p := b.plan("1")
		if diff := cmp.Diff([]string{"keep known.txt"}, did(p)); diff != "" {
			t.Errorf("%s: the plan (-want +got):\n%s", what, diff)
		}
		if text := strings.Join(p.Lines(), "\n"); !strings.Contains(text, "imported") {
			t.Errorf("%s: the plan does not say why:\n%s", what, text)
		}
		b.fork(p)
		b.wants(what, map[string]string{"known.txt": "known\n"})
	}
	keeps("imported")
	fork := settle.NewSessionID()
	if err := store.Fork(t.Context(), b.data, b.session, fork); err != nil {
		t.Fatal(err)
	}
	b.session = fork
	keeps("a copy of it")
	b.importAgain(victim)
	keeps("imported again")

	b.dir = here
	b.put("known.txt", "known\n")
	b.turns([]call{edit("known.txt", "known", "changed here"), write("new.txt", "n\n")})
	p := b.plan("1")
	if diff := cmp.Diff([]string{"remove new.txt", "restore known.txt"}, did(p)); diff != "" {
		t.Errorf("after the import (-want +got):\n%s", diff)
	}
	if text := strings.Join(p.Lines(), "\n"); !strings.Contains(text, "in "+here+":") {
		t.Errorf("the plan does not name the directory %s:\n%s", here, text)
	}
	b.fork(p)
	b.wants("the state at the import", map[string]string{"known.txt": "known\n"})
}
