//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/modeltest"
)

// Several processes answer the held call of a killed host at once: one verdict counts, and the
// others name it (C16).
func TestHeldCallIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for _, verdicts := range [][]string{
		{"approve", "approve", "approve"}, {"approve", "deny"}, {"approve", "approve", "deny"},
	} {
		t.Run(strings.Join(verdicts, " "), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := modeltest.NewServer(t, modeltest.Script(appends(""), modeltest.Say("It is done.")))
			session, id := p.heldCall(s, "--sandbox", "off")
			var all []*exec.Cmd
			for _, verdict := range verdicts {
				args := []string{"approvals", verdict, id}
				if verdict == "approve" {
					args = append(args, "--sandbox", "off", "-m", "chat/m", "--base-url", s.OpenAI())
				}
				cmd := p.command(args...)
				started(t, cmd)
				all = append(all, cmd)
			}
			won, denied := 0, false
			var errs []string
			for n, cmd := range all {
				_ = cmd.Wait()
				said := cmd.Stderr.(*bytes.Buffer).String()
				errs = append(errs, said)
				switch code := cmd.ProcessState.ExitCode(); {
				case code == 0:
					won++
					denied = denied || verdicts[n] == "deny"
				case code != 1 || !strings.Contains(said, "before by user") &&
					!strings.Contains(said, "was answered before"):
					t.Errorf("%s: exit code %d: %s", verdicts[n], code, said)
				}
			}
			if want := map[bool]int{true: 0, false: 1}[denied]; won != 1 || p.ran() != want {
				t.Errorf("%d of them won, and the call ran %d times: %q", won, p.ran(), errs)
			}
			if err := contract.Check(p.log(session)); err != nil {
				t.Error(err)
			}
		})
	}
}
