package modeltest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// dialects are the minimal good requests.
var dialects = []struct {
	name, path, body, end string
}{
	{"responses", "/v1/responses", `{"model":"m","store":false,"stream":true,"input":"hi"}`, "response.completed"},
	{
		"messages",
		"/v1/messages",
		`{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`,
		"message_stop",
	},
	{
		"chat",
		"/v1/chat/completions",
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`,
		`"finish_reason":"`,
	},
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// ask sends one request and reads all of the answer.
func ask(ctx context.Context, srv *modeltest.Server, path, body string) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(raw), err}
}

// words is a turn of text and two calls, with faults.
func words(faults ...modeltest.Fault) modeltest.Turn {
	return modeltest.Reply(modeltest.Text("one two three four five six"),
		modeltest.Call("shell", `{"command":"first command"}`), modeltest.Call("shell", `{"command":"second command"}`),
	).With(faults...)
}

// forEach runs the check in every dialect, over TCP and in memory.
func forEach(t *testing.T, turn modeltest.Turn, check func(t *testing.T, end string, a answer, x modeltest.Exchange)) {
	t.Helper()
	servers := map[string]func(modeltest.TB, modeltest.Scenario) *modeltest.Server{
		"tcp": modeltest.NewServer, "memory": modeltest.NewMemoryServer,
	}
	for network, start := range servers {
		for _, d := range dialects {
			t.Run(network+"/"+d.name, func(t *testing.T) {
				srv := start(t, modeltest.Script(turn))
				a := ask(t.Context(), srv, d.path, d.body)
				seen, err := srv.WaitEnded(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				check(t, d.end, a, seen[0])
			})
		}
	}
}

func TestCuts(t *testing.T) {
	places := []struct {
		at    modeltest.At
		has   string // in the body
		hasNo string
	}{
		{at: modeltest.AfterHeaders, hasNo: "data:"},
		{at: modeltest.AfterDelta(1), has: "one two", hasNo: "six"},
		{at: modeltest.WithinArguments(1), has: `\"comm`, hasNo: "cond"},
		{at: modeltest.AfterCall(1), has: "first", hasNo: "second"},
		{at: modeltest.AfterItems, has: "second"},
		{at: modeltest.BeforeEnd, has: "second"},
		{at: modeltest.AfterDelta(999), has: "second"},
	}
	for _, place := range places {
		for _, fault := range []modeltest.Fault{modeltest.Reset(place.at), modeltest.Cut(place.at), modeltest.Close(place.at)} {
			t.Run(fmt.Sprintf("%s at %s", fault.Kind, place.at), func(t *testing.T) {
				forEach(t, words(fault), func(t *testing.T, end string, a answer, x modeltest.Exchange) {
					switch fault.Kind {
					case modeltest.FaultReset:
						if !errors.Is(a.err, syscall.ECONNRESET) {
							t.Errorf("error %v, want a reset", a.err)
						}
					case modeltest.FaultCut:
						if !errors.Is(a.err, io.ErrUnexpectedEOF) {
							t.Errorf("error %v, want an unexpected EOF", a.err)
						}
					default:
						if a.err != nil {
							t.Errorf("error %v, want a clean end", a.err)
						}
					}
					if x.Ended != modeltest.EndedByFault || !slices.Equal(x.Struck, []modeltest.FaultKind{fault.Kind}) {
						t.Errorf("ended %q, struck %v", x.Ended, x.Struck)
					}
					if strings.Contains(a.body, end) {
						t.Error("the terminal event was sent")
					}
					if !strings.Contains(a.body, place.has) ||
						place.hasNo != "" && strings.Contains(a.body, place.hasNo) {
						t.Errorf("want %q and not %q in %s", place.has, place.hasNo, a.body)
					}
					if place.at == modeltest.AfterDelta(1) && (x.Deltas != 1 || strings.Contains(a.body, "four")) {
						t.Errorf("%d deltas in %s", x.Deltas, a.body)
					}
				})
			})
		}
	}
}

func TestCutBeforeHeaders(t *testing.T) {
	for _, fault := range []modeltest.Fault{modeltest.Reset(modeltest.BeforeHeaders), modeltest.Cut(modeltest.BeforeHeaders)} {
		forEach(t, words(fault), func(t *testing.T, _ string, a answer, x modeltest.Exchange) {
			if a.err == nil || a.status != 0 || x.Status != 0 || x.Ended != modeltest.EndedByFault {
				t.Errorf("answer %+v, exchange %+v", a, x)
			}
			if reset := errors.Is(a.err, syscall.ECONNRESET); reset != (fault.Kind == modeltest.FaultReset) {
				t.Errorf("%s gave %v", fault.Kind, a.err)
			}
		})
	}
}

func TestErrorAnswers(t *testing.T) {
	tests := []struct {
		fault  modeltest.Fault
		status int
		header string
		value  string
		has    string
	}{
		{modeltest.Status(429, modeltest.RetrySeconds(7)), 429, "Retry-After", "7", "ate limit"},
		{modeltest.Status(429, "-5"), 429, "Retry-After", "-5", ""},
		{modeltest.Status(503, "99999999999"), 503, "Retry-After", "99999999999", "verloaded"},
		{modeltest.Status(529, "soon"), 529, "Retry-After", "soon", "Overloaded"},
		{modeltest.Status(429, modeltest.RetryMillis(250)), 429, "Retry-After-Ms", "250", ""},
		{
			modeltest.Status(429, modeltest.RetryMessage(7*time.Second)),
			429,
			"Retry-After",
			"",
			"Please try again in 7s.",
		},
		{modeltest.Status(500), 500, "Retry-After", "", "error"},
		{modeltest.Status(418), 418, "Retry-After", "", "teapot"},
		{
			modeltest.Status(429).Saying("insufficient_quota", "You exceeded your current quota."),
			429,
			"Retry-After",
			"",
			`insufficient_quota`,
		},
	}
	for _, test := range tests {
		forEach(t, modeltest.Fail(test.fault), func(t *testing.T, _ string, a answer, x modeltest.Exchange) {
			if a.status != test.status || x.Status != test.status || a.header.Get(test.header) != test.value ||
				!strings.Contains(a.body, test.has) {
				t.Errorf("answer %+v", a)
			}
			var shape struct {
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(a.body), &shape); err != nil || shape.Error.Type == "" ||
				shape.Error.Message == "" {
				t.Errorf("not the provider's shape: %s (%v)", a.body, err)
			}
		})
	}
}

func TestRetryDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modeltest.NewMemoryServer(
			t, modeltest.Script(modeltest.Fail(modeltest.Status(503, modeltest.RetryDate(90*time.Second)))),
		)
		a := ask(t.Context(), srv, dialects[0].path, dialects[0].body)
		at, err := http.ParseTime(a.header.Get("Retry-After"))
		if err != nil || time.Until(at) != 90*time.Second {
			t.Errorf("the date %q is %v away (%v)", a.header.Get("Retry-After"), time.Until(at), err)
		}
	})
}

func TestForeignAnswers(t *testing.T) {
	forEach(t, words(modeltest.HTML()), func(t *testing.T, _ string, a answer, _ modeltest.Exchange) {
		if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
			!strings.Contains(a.body, "Please sign in") {
			t.Errorf("answer %+v", a)
		}
	})
	forEach(
		t,
		words(modeltest.ContentType("application/json")),
		func(t *testing.T, end string, a answer, _ modeltest.Exchange) {
			if a.status != 200 || a.header.Get("Content-Type") != "application/json" || !strings.Contains(a.body, end) {
				t.Errorf("answer %+v", a)
			}
		},
	)
}

func TestFramingFaults(t *testing.T) {
	plain := map[string][]string{} // dialect's end: data lines
	forEach(t, words(), func(_ *testing.T, end string, a answer, _ modeltest.Exchange) {
		plain[end] = dataLines(a.body, "\n")
	})
	tests := []struct {
		kind modeltest.FaultKind
		eol  string
	}{
		{modeltest.FaultCRLF, "\r\n"},
		{modeltest.FaultBareCR, "\r"},
		{modeltest.FaultComments, "\n"},
		{modeltest.FaultUnknowns, "\n"},
		{modeltest.FaultRepeat, "\n"},
		{modeltest.FaultSwap, "\n"},
		{modeltest.FaultNoEventNames, "\n"},
		{modeltest.FaultDrip, "\n"},
	}
	for _, test := range tests {
		t.Run(string(test.kind), func(t *testing.T) {
			forEach(
				t,
				words(modeltest.Quirk(test.kind)),
				func(t *testing.T, end string, a answer, x modeltest.Exchange) {
					if a.err != nil || x.Ended != modeltest.EndedSent {
						t.Fatalf("%v, %q", a.err, x.Ended)
					}
					got, want := dataLines(a.body, test.eol), plain[end]
					switch test.kind {
					case modeltest.FaultComments:
						if !strings.Contains(a.body, "\n: ") {
							t.Error("no comments")
						}
					case modeltest.FaultUnknowns:
						if len(got) != 2*len(want) {
							t.Errorf("%d events, want %d", len(got), 2*len(want))
						}
						got = slices.DeleteFunc(
							got,
							func(s string) bool { return strings.Contains(s, "modeltest.unknown") },
						)
					case modeltest.FaultRepeat:
						if len(got) != 2*len(want) {
							t.Errorf("%d events, want %d", len(got), 2*len(want))
						}
						got = slices.Compact(got)
					case modeltest.FaultSwap:
						if slices.Equal(got, want) {
							t.Error("nothing is swapped")
						}
						slices.Sort(got)
						want = slices.Sorted(slices.Values(want))
					case modeltest.FaultNoEventNames:
						if strings.Contains(a.body, "event:") {
							t.Error("events are named")
						}
					}
					if diff := cmp.Diff(stable(want), stable(got)); diff != "" {
						t.Error(diff)
					}
				},
			)
		})
	}
}

// dataLines returns the contents of a stream's data: lines.
func dataLines(body, eol string) []string {
	var out []string
	for line := range strings.SplitSeq(body, eol) {
		if data, found := strings.CutPrefix(line, "data: "); found {
			out = append(out, data)
		}
	}
	return out
}

// stable removes the parts that differ from second to second.
func stable(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		var v map[string]any
		if json.Unmarshal([]byte(line), &v) != nil {
			out[i] = line
			continue
		}
		delete(v, "created")
		if r, ok := v["response"].(map[string]any); ok {
			delete(r, "created_at")
		}
		raw, _ := json.Marshal(v)
		out[i] = string(raw)
	}
	return out
}

func TestFaultyEvents(t *testing.T) {
	forEach(
		t,
		words(modeltest.Malformed(modeltest.AfterDelta(1))),
		func(t *testing.T, end string, a answer, _ modeltest.Exchange) {
			bad := slices.DeleteFunc(
				dataLines(a.body, "\n"),
				func(s string) bool { return s == "[DONE]" || json.Valid([]byte(s)) },
			)
			if len(bad) != 1 || !strings.Contains(a.body, end) {
				t.Errorf("malformed: %q", bad)
			}
		},
	)
	forEach(
		t,
		words(modeltest.ErrorEvent(modeltest.AfterDelta(2), "", "")),
		func(t *testing.T, end string, a answer, x modeltest.Exchange) {
			lines := dataLines(a.body, "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, "error") || strings.Contains(a.body, end) ||
				a.err != nil ||
				x.Ended != modeltest.EndedByFault {
				t.Errorf("last event %s, error %v", last, a.err)
			}
		},
	)
	forEach(
		t,
		words(modeltest.Quirk(modeltest.FaultSameIndex)),
		func(t *testing.T, _ string, a answer, _ modeltest.Exchange) {
			if strings.Contains(a.body, `index":1`) {
				t.Error("an index is not 0")
			}
		},
	)
	forEach(
		t,
		words(modeltest.Quirk(modeltest.FaultSameIDs)),
		func(t *testing.T, _ string, a answer, _ modeltest.Exchange) {
			if n := strings.Count(a.body, `_same"`); n < 2 {
				t.Errorf("the id occurs %d times", n)
			}
		},
	)
	forEach(
		t,
		words(modeltest.Quirk(modeltest.FaultReverseIndex)),
		func(t *testing.T, end string, a answer, _ modeltest.Exchange) {
			first, second := strings.Index(a.body, `index":1`), strings.LastIndex(a.body, `index":0`)
			if first < 0 || second < 0 || !strings.Contains(a.body, end) {
				t.Errorf("indexes at %d and %d", first, second)
			}
		},
	)
}

func TestOversizedEvent(t *testing.T) {
	const size = 40 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	srv := modeltest.NewServer(t, modeltest.Script(words(modeltest.Oversized(modeltest.AfterDelta(1), size))))
	res, err := srv.Client().Post(srv.URL+dialects[0].path, "application/json", strings.NewReader(dialects[0].body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	longest, r := 0, bufio.NewReaderSize(res.Body, 64<<10)
	for length := 0; ; {
		part, more, err := r.ReadLine()
		length += len(part)
		longest = max(longest, length)
		if !more {
			length = 0
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if longest < size-64 || longest > size {
		t.Errorf("the longest line has %d bytes, want about %d", longest, size)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/4 {
		t.Errorf("it took %d bytes of memory: the event was held", used)
	}
}

func TestSilences(t *testing.T) {
	for _, at := range []modeltest.At{modeltest.BeforeHeaders, modeltest.AfterHeaders, modeltest.AfterDelta(2), modeltest.AfterEnd} {
		t.Run(string(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := modeltest.NewMemoryServer(t, modeltest.Script(words(modeltest.Silence(at))))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				a := ask(ctx, srv, dialects[1].path, dialects[1].body)
				if !errors.Is(a.err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
					t.Errorf("%v after %v", a.err, time.Since(start))
				}
				seen, err := srv.WaitEnded(t.Context(), 1)
				if err != nil || seen[0].Ended != modeltest.EndedByClient {
					t.Errorf("ended %q, %v", seen[0].Ended, err)
				}
				if err := srv.WaitConnections(t.Context(), 0); err != nil {
					t.Error(err)
				}
				if opened, open := srv.Connections(); opened != 1 || open != 0 {
					t.Errorf("%d connections, %d open", opened, open)
				}
			})
		})
	}
}

func TestSilencePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modeltest.NewMemoryServer(t, modeltest.Script(
			words(modeltest.Delay(time.Minute), modeltest.Silence(modeltest.AfterDelta(2)).Lasting(time.Minute)),
			modeltest.Reply(modeltest.Text("one two three four five six")).Paced(time.Second),
		))
		start := time.Now()
		if a := ask(t.Context(), srv, dialects[0].path, dialects[0].body); a.err != nil ||
			time.Since(start) != 2*time.Minute {
			t.Errorf("%v after %v", a.err, time.Since(start))
		}
		start = time.Now()
		if a := ask(t.Context(), srv, dialects[0].path, dialects[0].body); a.err != nil ||
			time.Since(start) != 3*time.Second {
			t.Errorf("paced: %v after %v", a.err, time.Since(start))
		}
	})
}

func TestHold(t *testing.T) {
	release := make(chan struct{})
	srv := modeltest.NewServer(t, modeltest.Script(words(modeltest.Hold(modeltest.AfterDelta(2), release))))
	go func() { // ends when the server has sent two deltas, or with the test
		defer close(release)
		if _, err := srv.WaitDeltas(t.Context(), 1, 2); err != nil {
			t.Error(err)
		}
	}()
	if a := ask(t.Context(), srv, dialects[2].path, dialects[2].body); a.err != nil ||
		!strings.Contains(a.body, "[DONE]") {
		t.Errorf("answer %+v", a)
	}
}

func TestPings(t *testing.T) {
	for _, d := range dialects {
		synctest.Test(t, func(t *testing.T) {
			pings := modeltest.Pings(modeltest.AfterDelta(1), 10*time.Second).Lasting(time.Minute)
			srv := modeltest.NewMemoryServer(t, modeltest.Script(words(pings)))
			start := time.Now()
			a := ask(t.Context(), srv, d.path, d.body)
			n := strings.Count(a.body, ": keep-alive") + max(0, strings.Count(a.body, "event: ping")-1)
			if a.err != nil || n != 6 || time.Since(start) != time.Minute {
				t.Errorf("%s: %v, %d pings in %v", d.name, a.err, n, time.Since(start))
			}
		})
	}
}

func TestClientGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := modeltest.NewServer(t, modeltest.Script(words(modeltest.Pings(modeltest.AfterDelta(1), time.Millisecond))))
	go func() { // ends when the server has sent a delta, or with the test
		defer cancel()
		if _, err := srv.WaitDeltas(t.Context(), 1, 1); err != nil {
			t.Error(err)
		}
	}()
	a := ask(ctx, srv, dialects[2].path, dialects[2].body)
	if !errors.Is(a.err, context.Canceled) {
		t.Errorf("error %v", a.err)
	}
	seen, err := srv.WaitEnded(t.Context(), 1)
	if err != nil || seen[0].Ended != modeltest.EndedByClient {
		t.Errorf("ended %q, %v", seen[0].Ended, err)
	}
}

func TestChatQuirks(t *testing.T) {
	tests := []struct {
		kind       modeltest.FaultKind
		has, hasNo string
	}{
		{modeltest.FaultNoIDs, `"name":"shell"`, `"id":"call_`},
		{
			modeltest.FaultNoIndexes,
			`"name":"shell"`,
			`"tool_calls":[{"function":{"arguments":"","name":"shell"},"id":"call_00000101","index"`,
		},
		{modeltest.FaultNoUsage, "[DONE]", `"usage"`},
		{modeltest.FaultNoDone, `"usage":{`, `[DONE]`},
		{modeltest.FaultFinishStop, `"finish_reason":"stop"`, `"finish_reason":"tool_calls"`},
		{modeltest.FaultWholeCalls, `"arguments":"{\"command\":\"first command\"}"`, `"arguments":""`},
		{modeltest.FaultEmptyIDs, `"id":""`, `"id":"call_`},
	}
	for _, test := range tests {
		srv := modeltest.NewServer(t, modeltest.Script(words(modeltest.Quirk(test.kind))))
		a := ask(t.Context(), srv, dialects[2].path, dialects[2].body)
		if a.err != nil || !strings.Contains(a.body, test.has) || strings.Contains(a.body, test.hasNo) {
			t.Errorf("%s: want %s and not %s in %s (%v)", test.kind, test.has, test.hasNo, a.body, a.err)
		}
	}
}

func TestScriptIsPlayedInOrder(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(
		modeltest.Say("first").With(modeltest.Status(500).First(2), modeltest.NoEnd().First(3)),
		modeltest.Say("only for bob").For("bob"),
		modeltest.Say("second"),
	))
	body := dialects[2].body
	send := func(body string) string {
		a := ask(t.Context(), srv, dialects[2].path, body)
		text := ""
		for _, line := range dataLines(a.body, "\n") {
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if json.Unmarshal([]byte(line), &chunk) == nil && len(chunk.Choices) > 0 {
				text += chunk.Choices[0].Delta.Content
			}
		}
		return fmt.Sprint(a.status, " ", text, " ", strings.Contains(a.body, "[DONE]"))
	}
	var got []string
	for range 4 {
		got = append(got, send(body))
	}
	got = append(got, send(body), send(strings.Replace(body, "hi", "I am bob", 1)), send(body))
	srv.Then(modeltest.Say("more"))
	got = append(got, send(body))
	want := []string{
		"500  false", "500  false", "200 first false", "200 first true",
		"200 second true", "200 only for bob true", "400  false", "200 more true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if refusals := srv.Refusals(); len(refusals) != 1 || srv.Left() != 0 {
		t.Errorf("refusals %q, %d turns left", refusals, srv.Left())
	}
}

func TestLoopAndAnswer(t *testing.T) {
	loop := modeltest.NewServer(
		t, modeltest.Scenario{Turns: []modeltest.Turn{modeltest.Say("a"), modeltest.Say("b")}, Loop: true},
	)
	asked := modeltest.NewServer(t, modeltest.Scenario{Answer: func(r modeltest.Request) modeltest.Turn {
		return modeltest.Say(fmt.Sprintf("answer %d to %s", r.N, r.Dialect))
	}})
	for i := range 5 {
		a := ask(t.Context(), loop, dialects[2].path, dialects[2].body)
		if !strings.Contains(a.body, fmt.Sprintf(`"content":"%c"`, "ababa"[i])) {
			t.Errorf("loop, request %d: %s", i, a.body)
		}
		d := dialects[i%3]
		a = ask(t.Context(), asked, d.path, strings.Replace(d.body, `"stream":true`, `"stream":false`, 1))
		if want := fmt.Sprintf("answer %d to %s", i+1, d.name); !strings.Contains(a.body, want) {
			t.Errorf("want %q in %s", want, a.body)
		}
	}
}

func TestFlood(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(modeltest.Flood(50_000))))
	a := ask(t.Context(), srv, dialects[0].path, dialects[0].body)
	if n := strings.Count(a.body, `output_text.delta","item`) + strings.Count(a.body, `event: response.output_text.delta`); n < 50_000 {
		t.Errorf("%d deltas", n)
	}
	if x := srv.Exchanges()[0]; x.Deltas != 50_000 || x.Ended != modeltest.EndedSent {
		t.Errorf("%d deltas sent, ended %q", x.Deltas, x.Ended)
	}
}

func TestRecordsRequests(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("hi")))
	req, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		srv.URL+dialects[0].path,
		bytes.NewBufferString(dialects[0].body),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Test", "yes")
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	seen, err := srv.WaitRequests(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	x := seen[0]
	if x.N != 1 || x.Dialect != modeltest.Responses || x.Path != "/v1/responses" || string(x.Body) != dialects[0].body ||
		x.Header.Get("X-Test") != "yes" ||
		x.At.IsZero() ||
		x.Turn != 0 {
		t.Errorf("exchange %+v", x)
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := srv.WaitRequests(expired, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting in vain gave %v", err)
	}
}

func TestHandlerElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modeltest.New(modeltest.Script(words(modeltest.Reset(modeltest.AfterDelta(1)))))
		client := modeltest.NewClient(t, srv.Handler())
		res, err := client.Post(
			"http://anything.test"+dialects[0].path, "application/json", strings.NewReader(dialects[0].body),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error %v, want a reset", err)
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	srv := modeltest.NewServer(nil, modeltest.Script(words(modeltest.Silence(modeltest.AfterDelta(1)))))
	done := make(chan answer, 1)
	go func() { done <- ask(t.Context(), srv, dialects[0].path, dialects[0].body) }() // ends when the server closes
	if _, err := srv.WaitDeltas(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-done; a.err == nil {
		t.Error("the answer ended as if nothing had happened")
	}
	if x := srv.Exchanges()[0]; x.Ended != modeltest.EndedByClose {
		t.Errorf("ended %q", x.Ended)
	}
	if err := srv.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
