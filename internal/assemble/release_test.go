package assemble

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/model/script"
)

// approvalRecorder records requests for approval, and answers them.
type approvalRecorder struct {
	titles []string
	answer error
}

func (a *approvalRecorder) Approve(_ context.Context, call settle.Approval) error {
	a.titles = append(a.titles, call.Title)
	return a.answer
}

// If a person can answer, the model can release processes with the person's approval; nothing else
// needs an approval.
func TestReleaseIsAsked(t *testing.T) {
	for _, tt := range []struct {
		answer   error
		released bool
	}{{nil, true}, {errors.New("no"), false}} {
		person := &approvalRecorder{answer: tt.answer}
		a := make1(t, resolve(t, "/", nil, map[string]string{"SETTLE_DATA_DIR": t.TempDir()}, ""), func(o *Options) {
			o.Model, o.Release, o.Approver = scripted(script.New(
				script.Turn(script.Call("shell", `{"command":"true"}`)),
				script.Turn(script.Call("shell", `{"command":"sleep 74.5","background":true,"release":true}`)),
				script.Text("Done."),
			)), "", person
		})
		host, err := settle.Open(t.Context(), a.Host)
		if err != nil {
			t.Fatal(err)
		}
		s, err := host.Session(t.Context(), "", a.Session)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := s.Submit(t.Context(), "serve")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		jobs := s.State().Jobs
		if err := host.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(person.titles, []string{"sleep 74.5"}) {
			t.Errorf("asked about %q", person.titles)
		}
		if got := len(jobs) == 1 && jobs[0].Ended != nil && jobs[0].Ended.How == event.JobReleased; got != tt.released {
			t.Errorf("answered %v: jobs %+v", tt.answer, jobs)
		}
		for _, j := range jobs {
			if _, _, err := (proc.RecordedCommand{
				Process: j.Process, Keeper: j.Keeper,
				Mark: j.Mark,
			}).End(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
	}
}
