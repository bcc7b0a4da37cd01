package tui

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
)

var errHostIsDead = errors.New("pid 7 (detached) does not host the session any more")

// attachedTalk is a conversation whose host can be killed.
type attachedTalk struct {
	talk
	dead context.Context // ends with the host
}

func (attachedTalk) Host() string { return "pid 7 (detached)" }

func (g attachedTalk) Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(g.dead, cancel)()
		for e, err := range g.talk.Events(ctx, cursor) {
			if g.dead.Err() != nil || !yield(e, err) {
				return
			}
		}
	}
}

func (g attachedTalk) Answer(ctx context.Context, a settle.Answer) error {
	if g.dead.Err() != nil {
		return errHostIsDead
	}
	return g.talk.Answer(ctx, a)
}

func (g attachedTalk) Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error) {
	if g.dead.Err() != nil {
		return settle.Outcome{}, errHostIsDead
	}
	return g.talk.Interrupt(ctx, i)
}

// killable are sessions of another process, which can be killed.
type killable struct {
	inMemory
	dead context.Context // ends with the process
	kill context.CancelFunc
}

func (k killable) Open(ctx context.Context, id string) (Conversation, error) {
	if k.dead.Err() != nil {
		return nil, errors.New("the session was opened again")
	}
	c, err := k.inMemory.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return attachedTalk{c.(talk), k.dead}, nil
}

func (killable) Close(context.Context, Conversation, event.Reason, string) error { return nil }

// sessionsToKill are sessions whose model makes one call of the tool.
func sessionsToKill(t *testing.T, name, arguments string) killable {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dead, kill := context.WithCancel(context.Background())
	t.Cleanup(kill)
	return killable{inMemory{host, settle.SessionConfig{
		Model: model.Config{
			Provider:     script.New(script.Turn(script.Call(name, arguments)), script.Text("done")),
			ProviderName: "script", Name: "m",
		},
		WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}, ask.New()},
	}}, dead, kill}
}

// After the end of the host that asked, no key answers: Enter opens the session here, and the words at
// the exit do not name the dead host.
func TestLostQuestionIsNotAnswered(t *testing.T) {
	for name, tc := range map[string]struct{ tool, arguments, asks, typed string }{
		"call":  {"shell", `{"command":"rm -r docs"}`, "1 allow once", ""},
		"words": {"shell", `{"command":"rm -r docs"}`, "1 allow once", "i use git"},
		"form":  {ask.Name, `{"questions":[{"question":"Which name?"}]}`, "Your answer:", "app"},
		"menu": {
			ask.Name, `{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`, "› 1 a", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions := sessionsToKill(t, tc.tool, tc.arguments)
				p, code := startPerson(t, sessions.host, Options{Sessions: sessions, Resume: resumeWords})
				p.types("go\r")
				p.sees(tc.asks)
				for key := range strings.SplitSeq(tc.typed, " ") {
					p.types(key)
				}
				sessions.kill()
				time.Sleep(time.Second)
				synctest.Wait()
				p.sees("Enter opens the session here, Ctrl-D leaves")
				p.misses(tc.asks, "Esc goes back")
				for _, key := range []string{"\x1by", "\x1b"} {
					p.types(key)
					p.misses("does not host the session")
				}
				p.sees("Enter opens the session here, Ctrl-D leaves")
				p.types("\r")
				p.sees("the session was opened again")
				p.misses("does not host the session")
				p.types("\x03\x03\x04")
				p.left(code, 1)
				p.sees("settle resume")
				p.misses("settle attach", "continues in pid")
			})
		})
	}
}

func resumeWords(_ string, hosted bool) string {
	if hosted {
		return "settle attach ID"
	}
	return "settle resume ID"
}

// The plain terminal does not say either that the session continues in a process that has ended.
func TestPlainSessionOfDeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions := sessionsToKill(t, "shell", `{"command":"rm -r docs"}`)
		in, keys := io.Pipe()
		defer keys.Close()
		var out strings.Builder
		code := make(chan int, 1)
		go func() { // ends with the host
			c, err := RunPlain(t.Context(), in, &out, 60, Options{
				Sessions: sessions, Resume: resumeWords, Place: "~/w", Prompt: "go",
			})
			if err != nil {
				t.Error(err)
			}
			code <- c
		}()
		time.Sleep(time.Second)
		sessions.kill()
		if got := <-code; got != 1 {
			t.Errorf("exit code %d", got)
		}
		for _, words := range []string{"has ended without closing", "Continue with: settle resume ID"} {
			if !strings.Contains(out.String(), words) {
				t.Errorf("it does not say %q:\n%s", words, out.String())
			}
		}
		if strings.Contains(out.String(), "continues in") {
			t.Errorf("it says\n%s", out.String())
		}
		if err := sessions.host.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
