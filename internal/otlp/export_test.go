package otlp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/metrics"
)

// collector answers requests in the order in which they come; the last answer is that of
// all that follow. It is held by one exporter, which makes one request at a time for
// each signal.
type collector struct {
	answers []func(*http.Request) (*http.Response, error)
	bodies  chan int // lengths of those that it took
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
		c.bodies <- len(body)
	}
	return resp, err
}

func status(code int, header, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		name, value, _ := strings.Cut(header, ": ")
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{name: {value}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done() // its test ends it
	return nil, context.Cause(r.Context())
}

func refused(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// turn has an exporter see a turn.
func turn(x *Exporter, id string) {
	_, end := x.Turn(context.Background(), event.Event{Session: "s", Turn: id, At: time.Now(), Data: event.TurnStarted{}})
	end(event.Event{At: time.Now(), Data: event.TurnCompleted{}})
}

func start(c *collector, report func(error)) *Exporter {
	c.bodies = make(chan int, 100)
	return New(Settings{Traces: &Endpoint{URL: "http://c/v1/traces", Timeout: 10 * time.Second}, Delay: 5 * time.Second, Interval: time.Minute, Ratio: 1},
		Source{Look: func(string, func(event.State)) {}, Held: func() metrics.Held { return metrics.Held{} }, Report: report}, &http.Client{Transport: c})
}

type answers = []func(*http.Request) (*http.Response, error)

func TestDelivery(t *testing.T) {
	rejection := message{}
	partial := message{}
	partial.varint(1, 1)
	partial.text(2, "too old")
	rejection.bytes(1, partial)
	for name, c := range map[string]struct {
		answers answers
		want    string // the error of Close
		taken   int
		after   time.Duration // that Close returns
	}{
		"taken":          {answers: answers{status(200, "", "")}, taken: 1},
		"busy once":      {answers: answers{status(503, "Retry-After: 2", ""), status(200, "", "")}, taken: 1, after: 2 * time.Second},
		"refused once":   {answers: answers{refused, status(200, "", "")}, taken: 1, after: time.Second},
		"not allowed":    {answers: answers{status(401, "", ""), status(200, "", "")}, want: "cannot export spans to http://c/v1/traces: Unauthorized"},
		"away":           {answers: answers{refused}, want: `cannot export spans to http://c/v1/traces: connection refused`, after: time.Second},
		"silent":         {answers: answers{silent}, want: `cannot export spans to http://c/v1/traces: context deadline exceeded`, after: 3 * time.Second},
		"busy for long":  {answers: answers{status(429, "Retry-After: 3600", "")}, want: "cannot export spans to http://c/v1/traces: Too Many Requests"},
		"busy until":     {answers: answers{status(503, "Retry-After: Sat, 01 Jan 2000 00:00:02 GMT", ""), status(200, "", "")}, taken: 1, after: 2 * time.Second},
		"busy for years": {answers: answers{status(429, "Retry-After: 9223372037", ""), status(200, "", "")}, want: "cannot export spans to http://c/v1/traces: Too Many Requests"},
		// This many seconds are 1.3 s once they overflowed.
		"busy for ages":  {answers: answers{status(429, "Retry-After: 18446744075", ""), status(200, "", "")}, want: "cannot export spans to http://c/v1/traces: Too Many Requests"},
		"rejects one":    {answers: answers{status(200, "", string(rejection))}, taken: 1, want: "cannot export spans to http://c/v1/traces: 1 were rejected: too old"},
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
				if took := time.Since(began); got != c.want || took != c.after || len(server.bodies) != c.taken {
					t.Errorf("Close returned %q after %v, and %d requests were taken; want %q, %v, %d", got, took, len(server.bodies), c.want, c.after, c.taken)
				}
			})
		})
	}
}

// TestSecretsInEndpoints: what is secret in an endpoint is not part of an error.
func TestSecretsInEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(&collector{answers: answers{refused}}, nil)
		x.settings.Traces.URL = "http://SECRET:SECRET@c/v1/traces?key=SECRET"
		turn(x, "t")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := x.Close(ctx); err == nil || err.Error() != "cannot export spans to http://***@c/v1/traces?***: connection refused" {
			t.Errorf("got %v", err)
		}
	})
}

// C9: a collector that does not answer holds nobody up, and costs bounded memory.
func TestSilentCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(&collector{answers: answers{silent}}, nil)
		const turns = 100_000
		for range turns {
			turn(x, "a turn with a name")
		}
		if len(x.queue) > maxQueue {
			t.Errorf("the queue has %d bytes", len(x.queue))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := x.Close(ctx); err == nil || !strings.Contains(err.Error(), "spans were dropped") {
			t.Errorf("got %v", err)
		}
	})
}

// TestOutage: an outage is reported once, and what comes after it is delivered.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []error
		c := &collector{answers: answers{status(400, "", ""), status(400, "", ""), status(200, "", ""), status(400, "", "")}}
		x := start(c, func(err error) { reports = append(reports, err) })
		for n, want := range []int{1, 1, 1, 2} {
			turn(x, "t")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if len(reports) != want {
				t.Errorf("after %d exports: %v", n+1, reports)
			}
		}
		if err := x.Close(t.Context()); err != nil || len(c.bodies) != 1 {
			t.Errorf("%v, %d were taken", err, len(c.bodies))
		}
	})
}

// TestSpansThatClosingCutsOff: what is on its way when the program ends is sent again.
func TestSpansThatClosingCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{silent, status(200, "", "")}}
		x := start(c, nil)
		turn(x, "a")
		time.Sleep(6 * time.Second)
		turn(x, "b")
		if err := x.Close(t.Context()); err != nil || len(c.bodies) != 1 {
			t.Errorf("%v, %d were taken", err, len(c.bodies))
		}
	})
}

func TestUnsampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: answers{status(200, "", "")}}
		x := start(c, nil)
		x.settings.Ratio = 0.25
		const turns = 2000
		for n := range turns {
			turn(x, time.Duration(n).String())
		}
		if n := x.queued; n < turns/5 || n > turns/3 {
			t.Errorf("%d of %d traces are sampled", n, turns)
		}
		_ = x.Close(t.Context())
	})
}
