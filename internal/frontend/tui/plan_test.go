package tui

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/model/script"
)

// A prompt for plan mode is not sent if plan mode cannot be turned on, also if the mode that was
// shown last is plan mode. It comes back with its command.
func TestPlanPromptWaitsForPlanMode(t *testing.T) {
	for _, shown := range []string{"allow", planMode} {
		synctest.Test(t, func(t *testing.T) {
			r := &rich{fixed: errors.New("the host fixes its permission")}
			p, code := newPerson(t, Options{Sessions: r}, script.Turn(script.Text("Planned.")))
			r.talk.set(shown)
			p.types("/plan refactor\r")
			p.sees("> /plan refactor", "not sent, since plan mode is not on: the host fixes")
			p.misses("▌ refactor")
			r.talk.mu.Lock()
			r.fixed = nil
			r.talk.mu.Unlock()
			p.types("\r")
			p.sees("▌ refactor", "Planned.")
			if got := r.talk.Mode(); got != planMode {
				t.Errorf("the mode is %s", got)
			}
			p.types("\x04")
			p.left(code, 0)
		})
	}
}

// A prompt that finds too many requests before it comes back into the editor.
func TestPlanPromptComesBackFromFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		r := &rich{wait: hold}
		p, code := newPerson(t, Options{Sessions: r}, script.Turn(script.Text("Planned.")))
		p.types(strings.Repeat("/permissions ask\r", 80))
		p.types("/plan refactor\r")
		p.sees("> /plan refactor", "nothing was done")
		close(hold)
		time.Sleep(time.Second)
		synctest.Wait()
		p.types("\r")
		p.sees("▌ refactor", "Planned.")
		p.types("\x04")
		p.left(code, 0)
	})
}
