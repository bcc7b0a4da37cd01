package exec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/frontend/compat/exec"
	"github.com/settle-agent/settle/internal/journal"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		words string
		last  bool
		dash  int
		want  exec.Arguments
		err   string
	}{
		{"", false, -1, exec.Arguments{}, ""},
		{"go", false, -1, exec.Arguments{Prompt: []string{"go"}}, ""},
		{"resume", false, 0, exec.Arguments{Prompt: []string{"resume"}}, ""},
		{"resume id", false, -1, exec.Arguments{Resume: true, Session: "id", Prompt: []string{}}, ""},
		{"resume id more", false, -1, exec.Arguments{Resume: true, Session: "id", Prompt: []string{"more"}}, ""},
		{"resume more", true, -1, exec.Arguments{Resume: true, Prompt: []string{"more"}}, ""},
		{"resume", false, -1, exec.Arguments{}, "name a session"},
		{`resume "" more`, false, -1, exec.Arguments{}, "name is empty"},
		{"resume id more words", false, -1, exec.Arguments{}, "put it into quotes"},
		{"two words", false, -1, exec.Arguments{}, "put it into quotes"},
		{"go", true, -1, exec.Arguments{}, "--last belongs to"},
		{"review", false, -1, exec.Arguments{}, `no "exec review"`},
	} {
		words := strings.Fields(tt.words)
		for n := range words {
			words[n] = strings.Trim(words[n], `"`)
		}
		got, err := exec.Read(words, tt.last, tt.dash)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: want %q, got %v", tt.words, tt.err, err)
			}
			continue
		}
		if len(got.Prompt) == 0 {
			got.Prompt, tt.want.Prompt = nil, nil
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", tt.words, err, diff)
		}
	}
}

// The beginning of an id names a session with a generated id. Several of them are an error that says so,
// and the beginning of a chosen name is no session.
func TestFindByBeginning(t *testing.T) {
	const one, two = "cafe1ef4-12aa-7000-8000-000000000001", "cafe1ef4-12ab-7000-8000-000000000002"
	dir := t.TempDir()
	for _, id := range []string{one, two, "ci-2"} {
		log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"cafe1ef4-12aa": one, "ci-2": "ci-2",
		"cafe": `session "cafe" is ambiguous: cafe1ef4-12aa, cafe1ef4-12ab`, "ci": "there is no such session",
	} {
		got, err := exec.Arguments{Resume: true, Session: name}.Find(t.Context(), dir, "")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q names %q, want %q", name, got, want)
		}
	}
}
