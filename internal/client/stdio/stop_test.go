package stdio

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settle-agent/settle/event"
)

func TestCode(t *testing.T) {
	stops := []Stop{{By: "signal:SIGTERM", Code: 143}, {By: "signal:SIGINT", Code: 130}}
	for _, tt := range []struct {
		cause *event.Cause
		want  int
	}{
		{nil, 1},
		{event.Complete(), 0},
		{event.Fail(&event.Failure{}), 1},
		{event.AbortLimit(event.LimitSteps, ""), 3},
		{event.Abort(event.Shutdown, "signal:SIGTERM"), 143},
		{event.Abort(event.Interrupted, "signal:SIGINT"), 130},
		{event.Abort(event.Interrupted, "somebody else"), 1},
	} {
		if got := Code(tt.cause, stops...); got != tt.want {
			t.Errorf("Code(%v) = %d, want %d", tt.cause, got, tt.want)
		}
	}
}

func TestExhaustLine(t *testing.T) {
	long := string(bytes.Repeat([]byte("é"), 600))
	got := ExhaustLine("s", "t", &event.Failure{
		Name: event.NameRetryExhausted, Status: 529, URL: "http://h/v1", Body: long, Message: "<over> & out", Attempt: 6, RetryLimit: 5,
	}, func(text string) string { return text })
	want := `[retry-exhaust] {"session":"s","turn":"t","status":529,"url":"http://h/v1","body":"` + long[:1000] +
		`","attempt":6,"retryLimit":5,"error":"TerminalRetryExhaustedError","message":"<over> & out"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
