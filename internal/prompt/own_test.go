package prompt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/prompt"
)

func TestFamilyOf(t *testing.T) {
	for _, tt := range []struct {
		tools, model string
		want         prompt.Family
	}{
		{"gpt", "gpt-5.2", prompt.GPT},
		{"claude", "vendor/claude-x", prompt.Claude},
		{"settle", "gemini-3.8-flash", prompt.Gemini},
		{"settle", "google/Gemini-3", prompt.Gemini},
		{"claude", "gemini-3.8-flash", prompt.Claude}, // the user chose the tools
		{"settle", "qwen", prompt.Others},
		{"", "", prompt.Others},
	} {
		if got := prompt.FamilyOf(tt.tools, tt.model); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.tools, tt.model, got, tt.want)
		}
	}
}

// A family has its own words; everything else of the prompt stays.
func TestPromptForFamily(t *testing.T) {
	o := options(tree(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n", "AGENTS.md": "make check"}))
	o.Append = "at last"
	p := prompt.Build(o)
	_, rest, _ := strings.Cut(p.Text, "# Environment")
	for _, f := range prompt.Families() {
		own, got, _ := strings.Cut(p.For(f).Text, "# Environment")
		if diff := cmp.Diff(rest, got); diff != "" {
			t.Errorf("%q:\n%s", f, diff)
		}
		if strings.TrimSpace(own) != prompt.Own(f) || !strings.Contains(own, `Effects "none"`) {
			t.Errorf("%q begins with %q", f, own)
		}
	}
	var names []string
	for _, part := range p.Parts {
		names = append(names, part.Name)
	}
	want := []string{"settle", "environment", "project's instructions", "appended"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	mine := "mine"
	o.Replace = &mine
	if got := prompt.Build(o).For(prompt.GPT).Text; !strings.HasPrefix(got, "mine\n") {
		t.Errorf("a replaced prompt: %q", got)
	}
}
