package exec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/frontend/compat/exec"
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
