//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// If no person can be asked, the model's tools offer no calls outside the sandbox, and do not
// mention a person who decides.
func TestUnaskedCommandsOfferNoWayOutOfSandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	report := modeltest.Say(`{"summary":"All is well.","findings":[]}`)
	server := modeltest.NewServer(t, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{report}})
	for _, args := range [][]string{
		{"review", "-m", "chat/m", "--base-url", server.OpenAI(), "the parser"},
		{"exec", "-c", "model_provider=chat", "-m", "chat/m", "--base-url", server.OpenAI(), "hello"},
	} {
		p.says(args...)
		all := server.Exchanges()
		body := string(all[len(all)-1].Body)
		if !strings.Contains(body, "with sh -c") && !strings.Contains(body, `"shell"`) {
			t.Fatalf("%q: no shell is offered: %.500s", args, body)
		}
		for _, word := range []string{"run that call outside", "if the user approves"} {
			if strings.Contains(body, word) {
				t.Errorf("%s: the request has %q", args[0], word)
			}
		}
	}
}

// The command that continues a session does not allow more than the turn that ended.
func TestContinuingAllowsNotMore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	down := []string{"-m", "chat/m", "--base-url", "http://127.0.0.1:1/v1", "--retries", "0", "--retry-for", "0"}
	for want, args := range map[string][]string{
		" --permission deny PROMPT":                {"review", "the parser"},
		" --permission allow PROMPT":               {"review", "--permission", "allow", "the parser"},
		" --permission deny --sandbox auto PROMPT": {"run", "--permission", "deny", "--sandbox", "auto", "hello"},
		" --plan --sandbox-network off PROMPT":     {"run", "--plan", "--sandbox-network", "off", "hello"},
		" --permission allow --sandbox-mode read-only ": {
			"run", "--permission", "allow", "--sandbox-mode", "read-only", "hello",
		},
	} {
		cmd := p.command(append(args, down...)...)
		out, err := cmd.CombinedOutput()
		_, hint, found := strings.Cut(string(out), "continue with: settle run --resume ")
		if _, rest, _ := strings.Cut(hint, " "); err == nil || !found || !strings.HasPrefix(" "+rest, want) {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
