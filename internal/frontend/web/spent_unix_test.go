//go:build unix

package web_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// A log that cannot be written makes a session useless, but only until it can be written again. The
// events that a client saw before that are not mistaken for the events that were written later
// (C17, C20).
func TestALogThatFailedIsOpenedAnew(t *testing.T) {
	dir := t.TempDir()
	b := serve(t, setup{dir: dir})
	session := b.session("s")
	b.input(session, "hello")
	e := b.until(session, event.Event.Terminal)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := b.connect(ctx, session, e.Seq)
	if err != nil {
		t.Fatal(err)
	}
	logs, elsewhere := filepath.Join(dir, "sessions"), filepath.Join(dir, "elsewhere")
	if err := os.Rename(logs, elsewhere); err != nil {
		t.Fatal(err)
	}
	if a := b.send("POST", session+"/inputs", object{"text": "lost?"}); a.status < 400 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	id, last := "", ""
	for m, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if m.id != "" {
			id = m.id
		}
		last = m.event
	}
	if !strings.Contains(id, ".") || last != "closed" {
		t.Errorf("the stream ends with %q after event %q, which was not written", last, id)
	}
	if err := os.Rename(elsewhere, logs); err != nil {
		t.Fatal(err)
	}
	for range 3 { // so that the log grows beyond the lost events
		b.input(session, "again")
	}
	b.until(session, func(e event.Event) bool { return e.Terminal() && e.Turn == "t000004" })
	b.exported(session, contract.Checker{Unfinished: true})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url(session+"/events"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Last-Event-ID", id)
	res, err := b.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	for m := range messages(res.Body) {
		if m.event != "" {
			if m.event != "resync" {
				t.Errorf("after %q comes a %s: %s", id, m.event, m.data)
			}
			break
		}
	}
}
