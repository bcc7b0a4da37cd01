package script_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func play(ctx context.Context, m *script.Model, req model.Request) (chunks []model.Chunk, err error) {
	for c, e := range m.Stream(ctx, req) {
		if e != nil {
			return chunks, e
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func TestTurn(t *testing.T) {
	signature := model.ProviderSignature{Format: "signature", Data: "s"}
	usage := model.Usage{Input: 3, Output: 2}
	m := script.New(
		script.Turn(
			script.Signed(signature, "Let me ", "look."),
			script.Usage(usage),
			script.Call("shell", `{"command"`, `:"ls"}`),
		),
		script.Text("Done."),
	)
	got, err := play(t.Context(), m, model.Request{Model: "a"})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Chunk{
		{Kind: model.Start, ID: "resp_1"},
		{Kind: model.ItemStart, Role: model.Reasoning},
		{Kind: model.Delta, Role: model.Reasoning, Text: "Let me "},
		{Kind: model.Delta, Role: model.Reasoning, Text: "look."},
		{Kind: model.ItemEnd, Role: model.Reasoning, Signature: &signature},
		{Kind: model.UsageReport, Usage: &usage},
		{Kind: model.ItemStart, Role: model.Call, Index: 1, CallID: "call_1", Name: "shell"},
		{Kind: model.Delta, Role: model.Call, Index: 1, Text: `{"command"`},
		{Kind: model.Delta, Role: model.Call, Index: 1, Text: `:"ls"}`},
		{Kind: model.ItemEnd, Role: model.Call, Index: 1, CallID: "call_1", Name: "shell"},
		{Kind: model.End, Stop: model.StopToolUse, Usage: &usage},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first answer (-want +got):\n%s", diff)
	}
	got, err = play(t.Context(), m, model.Request{Model: "b"})
	want = []model.Chunk{
		{Kind: model.Start, ID: "resp_2"},
		{Kind: model.ItemStart, Role: model.Assistant},
		{Kind: model.Delta, Role: model.Assistant, Text: "Done."},
		{Kind: model.ItemEnd, Role: model.Assistant},
		{Kind: model.End, Stop: model.StopEndTurn},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("second answer: error %v (-want +got):\n%s", err, diff)
	}
	if _, err = play(t.Context(), m, model.Request{Model: "c"}); err == nil {
		t.Error("the request after the script's end was answered")
	}
	var asked []string
	for _, r := range m.Requests() {
		asked = append(asked, r.Model)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	fault := errors.New("reset")
	for _, tt := range []struct {
		name   string
		step   script.Step
		chunks int
		err    error
	}{
		{"fail at once", script.Fail(fault), 0, fault},
		{"fail in the middle", script.Turn(script.Unfinished("shell", "{"), script.Fail(fault)), 3, fault},
		{"cut", script.Turn(script.Text("a"), script.Cut()), 4, nil},
		{"unfinished call, good end", script.Turn(script.Unfinished("shell", "{")), 4, nil},
		{"answer", script.Answer(func(r model.Request) script.Step { return script.Fail(errors.New(r.Model)) }), 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := play(t.Context(), script.New(tt.step), model.Request{Model: "m"})
			if tt.name == "answer" {
				if err == nil || err.Error() != "m" {
					t.Errorf("error %v, want m", err)
				}
				return
			}
			if len(got) != tt.chunks || !errors.Is(err, tt.err) {
				t.Errorf("%d chunks and error %v, want %d and %v", len(got), err, tt.chunks, tt.err)
			}
		})
	}
}

func TestWaits(t *testing.T) {
	cause := errors.New("interrupted")
	for _, tt := range []struct {
		name string
		step script.Step
		want time.Duration // until the cause comes back; the interrupt is at 10 s
	}{
		{"stall", script.Stall(), 10 * time.Second},
		{"stall after text", script.Turn(script.Text("a"), script.Stall()), 10 * time.Second},
		{"delay", script.Turn(script.Delay(time.Hour), script.Text("a")), 10 * time.Second},
		{"pings", script.Repeat(100, script.Turn(script.Ping(), script.Delay(time.Second))), 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(10*time.Second, func() { cancel(cause) })
				begin := time.Now()
				_, err := play(ctx, script.New(tt.step), model.Request{})
				if !errors.Is(err, cause) || time.Since(begin) != tt.want {
					t.Errorf("error %v after %v, want the cause after %v", err, time.Since(begin), tt.want)
				}
			})
		})
	}
}

func TestDeafIgnoresContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelled := errors.New("cancelled")
		m := script.New(script.Turn(script.Text("a"), script.Deaf(release), script.Text("b")))
		time.AfterFunc(time.Second, func() { cancel(cancelled) })
		time.AfterFunc(time.Minute, func() { close(release) })
		begin := time.Now()
		_, err := play(ctx, m, model.Request{})
		if time.Since(begin) != time.Minute || !errors.Is(err, cancelled) {
			t.Errorf("ended after %v with %v", time.Since(begin), err)
		}
	})
}

func TestActivity(t *testing.T) {
	n := 0
	chunks, err := play(t.Context(), script.New(script.Text("a", "b")), model.Request{Activity: func() { n++ }})
	if err != nil || n != len(chunks) {
		t.Errorf("activity was called %d times for %d chunks, error %v", n, len(chunks), err)
	}
}
