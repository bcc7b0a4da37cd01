//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// The end of the input (Ctrl-D) in the middle of the agent's questions keeps the answers that were given.
func TestEndOfInputKeepsAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ keys, says, sends string }{
		"some": {"SQLite\n", "your answers so far are sent", `\"Which name?\" = no answer`},
		"none": {"", "the agent continues with its defaults", "Nobody answered (policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(modeltest.Call("ask_user", `{"questions":[{"question":"Which database?"},`+
					`{"question":"Which name?"}]}`)),
				modeltest.Say("I see."),
			))
			cmd, keys, shot, _ := openTerminal(t, p, "run", "-m", "chat/m", "--base-url", s.OpenAI(), "go")
			shot.shows(t, "Which database? > ")
			typed(t, keys, tt.keys)
			if tt.keys != "" {
				shot.shows(t, "Which name? > ")
			}
			typed(t, keys, "\x04")
			shot.shows(t, tt.says)
			exited(t, cmd, 0)
			body := string(s.Exchanges()[1].Body)
			if !strings.Contains(body, tt.sends) || tt.keys != "" && !strings.Contains(body, "SQLite") {
				t.Errorf("the model received %s", body)
			}
		})
	}
}

// A run that ends while a call waits reports that the call is held. A run that continues the
// session reports it as well.
func TestRunNamesHeldCall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := modeltest.NewServer(t, modeltest.Script(appends(""), modeltest.Say("I see.")))
	model := []string{"-m", "chat/m", "--base-url", s.OpenAI()}
	cmd, _, shot, _ := openTerminal(t, p, append([]string{"run", "--permission", "ask", "go"}, model...)...)
	shot.shows(t, "1 allow once (y)")
	signalled(t, cmd, syscall.SIGHUP)
	exited(t, cmd, 129)
	shot.shows(t, "answer it with: settle approvals")
	if strings.Contains(shot.String(), "no longer needed") {
		t.Errorf("it says %s", shot.String())
	}
	again := p.command(append([]string{"run", "--resume-crashed"}, model...)...)
	exited(t, startedAt(t, again), 0)
	if said := stderr(again); !strings.Contains(said, "the call is held: echo x >> ran; answer it with") {
		t.Errorf("it says %s", said)
	}
	if p.ran() != 0 || !strings.Contains(p.says("approvals"), "  held  ") {
		t.Errorf("it ran %d times; %s", p.ran(), p.says("approvals"))
	}
}
