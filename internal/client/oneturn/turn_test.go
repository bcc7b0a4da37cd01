package oneturn_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/test/pdftest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// seen is a view that records its changes.
type seen struct {
	kinds []event.Kind
	why   string
}

func (s *seen) Follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	return oneturn.Changes(
		ctx, session, cursor, transcript.Final,
		func(c transcript.Change) { s.kinds = append(s.kinds, c.Event.Kind()) },
	)
}
func (s *seen) Finish(string)   {}
func (s *seen) Fail(why string) { s.why = why }
func (s *seen) Last() []byte    { return []byte("over\n") }

// A view is shown everything up to the terminal event, or why there will be none.
func TestView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &seen{}
		run := func(m *script.Model, o oneturn.Options) (code int, stdout string) {
			host, err := settle.Open(t.Context(), settle.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			o.Config = settle.SessionConfig{
				Model: model.Config{Provider: m, Name: "m"}, WorkDir: t.TempDir(), Permission: settle.Allow,
			}
			o.Host, o.Prompt, o.Stdout, o.Stderr = host, "hi", &out, io.Discard
			code = oneturn.Run(context.Background(), o, func(stage oneturn.Stage) oneturn.View {
				stage.Write(func(b []byte) []byte { return append(b, "begun\n"...) })
				return v
			})
			return code, out.String()
		}
		code, stdout := run(script.New(script.Text("fine")), oneturn.Options{Schema: []byte(`{}`)})
		if code != stdio.CodeCompleted || stdout != "begun\nover\n" || v.why != "" ||
			v.kinds[0] != event.KindSessionOpened || v.kinds[len(v.kinds)-1] != event.KindTurnCompleted {
			t.Errorf("code %d, stdout %q, shown %v, %q", code, stdout, v.kinds, v.why)
		}
		stops := make(chan stdio.Stop, 3)
		for range 3 { // before there is anything to wait for
			stops <- stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}
		}
		v = &seen{}
		if code, _ = run(
			script.New(script.Turn(script.Text("…"), script.Stall())), oneturn.Options{Stops: stops},
		); code != 130 {
			t.Errorf("code %d", code)
		}
		// The turn may have begun before the stops are read: it ends so, or there is none.
		if ended := len(v.kinds) > 0 && v.kinds[len(v.kinds)-1] == event.KindTurnAborted; ended == (v.why != "") {
			t.Errorf("shown %v, and %q", v.kinds, v.why)
		}
	})
}

// A stop ends the reading of PDFs, and nothing is sent.
func TestStopEndsReadingOfDocuments(t *testing.T) {
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	v, stops := &seen{}, make(chan stdio.Stop, 1)
	m := script.New(script.Text("fine"))
	slow := event.Document{Data: pdftest.Slow()}
	var stderr bytes.Buffer
	code := oneturn.Run(t.Context(), oneturn.Options{
		Config: settle.SessionConfig{
			Model: model.Config{Provider: m, Name: "m"}, WorkDir: t.TempDir(), Permission: settle.Allow,
		},
		Host: host, Stdout: io.Discard, Stderr: &stderr, Stops: stops,
		Attached: image.Attached{Documents: []event.Document{slow, slow, slow}},
		Continue: func(event.State) (string, error) {
			stops <- stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}
			return "hi", nil
		},
	}, func(oneturn.Stage) oneturn.View { return v })
	if code != 130 || !strings.Contains(stderr.String(), "before the turn began; nothing was sent") {
		t.Errorf("code %d, stderr %q", code, &stderr)
	}
	if slices.Contains(v.kinds, event.KindInputAccepted) || len(m.Requests()) > 0 {
		t.Errorf("events %v, %d requests", v.kinds, len(m.Requests()))
	}
}
