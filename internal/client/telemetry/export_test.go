package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/metrics"
)

// collector answers requests in the order of arrival; the last answer is for all further requests.
// It serves one exporter, which makes one request at a time for each signal.
type collector struct {
	answers []func(*http.Request) (*http.Response, error)

	mu     sync.Mutex
	bodies [][]byte // accepted bodies
}

func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := c.answers[0]
	if len(c.answers) > 1 {
		c.answers = c.answers[1:]
	}
	resp, err := answer(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, body)
	}
	return resp, err
}

// taken returns the bodies that it took.
func (c *collector) taken() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies
}

// spans returns the spans that it took.
func (c *collector) spans(t *testing.T) (all []*tracepb.Span) {
	t.Helper()
	for _, body := range c.taken() {
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Fatal(err)
		}
		for _, of := range data.GetResourceSpans() {
			for _, in := range of.GetScopeSpans() {
				all = append(all, in.GetSpans()...)
			}
		}
	}
	return all
}

func status(code int, header, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		name, value, _ := strings.Cut(header, ": ")
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Header: http.Header{name: {value}},
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done() // its test ends it
	return nil, context.Cause(r.Context())
}

func refused(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// turn has an exporter see a turn.
func turn(x *Exporter, id string) {
	_, end := x.Turn(
		context.Background(),
		event.Event{Session: "s", Turn: id, At: time.Now(), Data: event.TurnStarted{}},
	)
	end(event.Event{At: time.Now(), Data: event.TurnCompleted{}})
}

func start(c *collector, report func(error), change ...func(*Settings)) *Exporter {
	s := Settings{
		Traces: &Endpoint{URL: "http://c/v1/traces", Timeout: 10 * time.Second},
		Delay:  5 * time.Second, Interval: time.Minute, Ratio: 1,
	}
	for _, f := range change {
		f(&s)
	}
	return newExporter(s,
		Source{
			Look: func(string, func(event.State)) {}, Held: func() metrics.Held { return metrics.Held{} },
			Report: report,
		}, &http.Client{Transport: c})
}

type answers = []func(*http.Request) (*http.Response, error)

func TestDelivery(t *testing.T) {
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	rejection := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	for name, c := range map[string]struct {
		answers answers
		want    string // the error of Close
		taken   int
		after   time.Duration // that Close returns
	}{
		"taken": {answers: answers{status(200, "", "")}, taken: 1},
		"busy once": {
			answers: answers{status(503, "Retry-After: 2", ""), status(200, "", "")}, taken: 1,
			after: 2 * time.Second,
		},
		"refused once": {answers: answers{refused, status(200, "", "")}, taken: 1, after: time.Second},
		"not allowed": {
			answers: answers{status(401, "", ""), status(200, "", "")},
			want:    "cannot export spans to http://c/v1/traces: Unauthorized",
		},
		"away": {
			answers: answers{refused}, want: `cannot export spans to http://c/v1/traces: connection refused`,
			after: time.Second,
		},
		"silent": {
			answers: answers{silent},
			want:    `cannot export spans to http://c/v1/traces: context deadline exceeded`, after: 3 * time.Second,
		},
		"busy for long": {
			answers: answers{status(429, "Retry-After: 3600", "")},
			want:    "cannot export spans to http://c/v1/traces: Too Many Requests",
		},
		"busy until": {
			answers: answers{status(503, "Retry-After: Sat, 01 Jan 2000 00:00:02 GMT", ""), status(200, "", "")},
			taken:   1, after: 2 * time.Second,
		},
		"busy for years": {
			answers: answers{status(429, "Retry-After: 9223372037", ""), status(200, "", "")},
			want:    "cannot export spans to http://c/v1/traces: Too Many Requests",
		},
		// This many seconds are 1.3 s once they overflowed.
		"busy for ages": {
			answers: answers{status(429, "Retry-After: 18446744075", ""), status(200, "", "")},
			want:    "cannot export spans to http://c/v1/traces: Too Many Requests",
		},
		"rejects one": {
			answers: answers{status(200, "", string(rejection))}, taken: 1,
			want: "cannot export spans to http://c/v1/traces: 1 were rejected: too old",
		},
		"says something": {answers: answers{status(200, "", "<html>")}, taken: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &collector{answers: c.answers}
				x := start(server, nil)
				turn(x, "t")
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				defer cancel()
				got := ""
				if err := x.Close(ctx); err != nil {
					got = err.Error()
				}
				if took := time.Since(began); got != c.want || took != c.after || len(server.taken()) != c.taken {
					t.Errorf(
						"Close returned %q after %v, and %d requests were taken; want %q, %v, %d", got, took,
						len(server.taken()), c.want, c.after, c.taken,
					)
				}
			})
		})
	}
}

// TestSecretsInEndpoints: the secret parts of an endpoint are not part of an error.
func TestSecretsInEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(&collector{answers: answers{refused}}, nil, func(s *Settings) {
			s.Traces.URL = "http://SECRET:SECRET@c/v1/traces?key=SECRET"
		})
		turn(x, "t")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := x.Close(ctx); err == nil ||
			err.Error() != "cannot export spans to http://***@c/v1/traces?***: connection refused" {
			t.Errorf("got %v", err)
		}
	})
}

// C9: a collector that does not answer holds nobody up, and costs bounded memory.
func TestSilentCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(&collector{answers: answers{silent}}, nil)
		const turns = 20_000
		for range turns {
			turn(x, "a turn with a name")
		}
		if x.mu.Lock(); x.queued > maxQueue {
			t.Errorf("the queue has %d bytes", x.queued)
		}
		x.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := x.Close(ctx); err == nil || !strings.Contains(err.Error(), "spans were dropped") {
			t.Errorf("got %v", err)
		}
	})
}

// TestOutage: an outage is reported once, and later data are delivered.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []error
		c := &collector{
			answers: answers{status(400, "", ""), status(400, "", ""), status(200, "", ""), status(400, "", "")},
		}
		x := start(c, func(err error) { reports = append(reports, err) })
		for n, want := range []int{1, 1, 1, 2} {
			turn(x, "t")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if len(reports) != want {
				t.Errorf("after %d exports: %v", n+1, reports)
			}
		}
		if err := x.Close(t.Context()); err != nil || len(c.taken()) != 1 {
			t.Errorf("%v, %d were taken", err, len(c.taken()))
		}
	})
}

// TestSpansThatClosingCutsOff: an export that runs when the program ends is sent again.
func TestSpansThatClosingCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{silent, status(200, "", "")}}
		x := start(c, nil)
		turn(x, "a")
		time.Sleep(6 * time.Second)
		turn(x, "b")
		if err := x.Close(t.Context()); err != nil || len(c.spans(t)) != 2 {
			t.Errorf("%v, %d spans were taken", err, len(c.spans(t)))
		}
	})
}

// TestQueueHasRoomAgain: exported spans leave the queue, so that nothing is dropped.
func TestQueueHasRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{status(200, "", "")}}
		x := start(c, nil, func(s *Settings) { s.Content = true })
		const turns = 200 // with 64 KiB each, three times the size of the queue
		for n := range turns {
			began := event.Event{Session: "s", Turn: fmt.Sprint(n), At: time.Now(), Data: event.TurnStarted{}}
			_, end := x.Turn(context.Background(), began)
			end(event.Event{At: time.Now(), Data: event.TurnCompleted{Answer: strings.Repeat("a", 2*maxText)}})
			synctest.Wait()
		}
		if err := x.Close(t.Context()); err != nil || len(c.spans(t)) != turns {
			t.Errorf("%v, %d spans were taken", err, len(c.spans(t)))
		}
		if x.queued != 0 {
			t.Errorf("%d bytes are still queued", x.queued)
		}
	})
}

// TestInvalidText: a text that is not UTF-8 does not cost the spans around it.
func TestInvalidText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{status(200, "", "")}}
		x := start(c, nil, func(s *Settings) { s.Content = true })
		wrong := "a\xffb"
		e := event.Event{Session: wrong, Turn: wrong, Attempt: wrong, Item: wrong, By: wrong, At: time.Now()}
		within := func(data event.Data) event.Event { e.Data = data; return e }
		failure := &event.Failure{Kind: wrong, Message: wrong}
		ctx, endTurn := x.Turn(context.Background(), within(event.TurnStarted{Model: wrong, Provider: wrong}))
		_, endAttempt := x.Attempt(ctx, within(event.AttemptStarted{Model: wrong}))
		endAttempt(within(event.AttemptEnded{StopReason: wrong, ResponseID: wrong, Failure: failure}))
		_, endCall := x.Call(ctx, wrong, within(nil))
		content := event.Content{Output: wrong, Arguments: wrong}
		endCall(within(event.ItemEnded{Status: event.ItemFailed, Cause: event.Fail(failure), Content: content}))
		endTurn(within(event.TurnFailed{Failure: failure}))
		if err := x.Close(t.Context()); err != nil || len(c.spans(t)) != 3 {
			t.Errorf("%v, %d spans were taken", err, len(c.spans(t)))
		}
	})
}

// TestSpanIDs: a call's span is below its turn's, and the turn of a child agent below the
// call that started it, also if another process exports that.
func TestSpanIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{status(200, "", "")}}
		child := event.State{Host: event.SessionOpened{Parent: "s", ParentTurn: "t", ParentCall: "i"}}
		source := Source{Look: func(session string, f func(event.State)) {
			if session == "child" {
				f(child)
			}
		}, Held: func() metrics.Held { return metrics.Held{} }}
		settings := Settings{
			Traces: &Endpoint{
				URL: "http://c/v1/traces", Timeout: time.Second,
			}, Delay: time.Second, Interval: time.Minute, Ratio: 1,
		}
		for _, session := range []string{"s", "child"} { // each by an exporter of its own
			x := newExporter(settings, source, &http.Client{Transport: c})
			began := event.Event{Session: session, Turn: "t", At: time.Now(), Data: event.TurnStarted{}}
			ctx, endTurn := x.Turn(context.Background(), began)
			_, endCall := x.Call(ctx, "task", event.Event{Session: session, Turn: "t", Item: "i", At: time.Now()})
			endCall(event.Event{At: time.Now(), Data: event.ItemEnded{Status: event.ItemCompleted}})
			endTurn(event.Event{At: time.Now(), Data: event.TurnCompleted{}})
			if err := x.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		spans := c.spans(t)
		if len(spans) != 4 {
			t.Fatalf("%d spans were taken", len(spans))
		}
		call, turn, childTurn := spans[0], spans[1], spans[3]
		if len(turn.GetParentSpanId()) != 0 || !bytes.Equal(call.GetParentSpanId(), turn.GetSpanId()) ||
			!bytes.Equal(childTurn.GetParentSpanId(), call.GetSpanId()) {
			t.Errorf("the tree is %v", spans)
		}
		if !bytes.Equal(turn.GetTraceId(), childTurn.GetTraceId()) {
			t.Errorf("the traces are %x and %x", turn.GetTraceId(), childTurn.GetTraceId())
		}
	})
}

func TestUnsampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{status(200, "", "")}}
		x := start(c, nil, func(s *Settings) { s.Ratio = 0.25 })
		const turns = 2000
		for n := range turns {
			turn(x, time.Duration(n).String())
		}
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(c.spans(t)); n < turns/5 || n > turns/3 {
			t.Errorf("%d of %d traces are sampled", n, turns)
		}
	})
}
