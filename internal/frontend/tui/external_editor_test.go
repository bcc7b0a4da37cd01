package tui

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/model/script"
)

// A program of the person's has the terminal, which nobody draws on meanwhile; the
// session goes on. Ctrl-C is the program's, other signals end it.
func TestExternalEditorReplacesText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edited, stops, ended := make(chan string), make(chan stdio.Stop, 1), make(chan struct{})
		edit := func(ctx context.Context, text string) (string, error) {
			select {
			case more := <-edited:
				return text + more, nil
			case <-ctx.Done():
				close(ended)
				return "", context.Cause(ctx)
			}
		}
		p, code := newPerson(t, Options{Edit: edit, Stops: stops}, script.Turn(script.Text("Meanwhile.")))
		p.types("go\r")
		p.types("first\x07")
		p.tty.mu.Lock()
		before := p.tty.restored
		p.tty.mu.Unlock()
		if before != 1 {
			t.Errorf("the terminal was given back %d times", before)
		}
		stops <- stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}
		synctest.Wait()
		p.misses("> first")
		edited <- " and\nsecond\n\n"
		p.types("")
		p.sees("> first and", "  second", "Meanwhile.")
		p.types("!\x07")
		stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}
		<-ended
		p.left(code, 143)
	})
}

// Without an editor, a hint shows the person how to set one.
func TestEditorKeyWithoutEditorShowsHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{})
		p.types("\x07")
		p.sees("set VISUAL or EDITOR")
		p.types("\x04")
		p.left(code, 0)
	})
}
