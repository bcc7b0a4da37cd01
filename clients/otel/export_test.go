package otel

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

const key = "a-key-that-is-never-shown"

// collector is a receiver of OTLP, with the received data.
type collector struct {
	url     string
	traces  consumertest.TracesSink
	metrics consumertest.MetricsSink
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	c := &collector{url: "http://" + addr}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	conf := confmap.NewFromStringMap(
		map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": addr}}},
	)
	if err := conf.Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	settings := receivertest.NewNopSettings(factory.Type())
	traces, err := factory.CreateTraces(t.Context(), settings, config, &c.traces)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := factory.CreateMetrics(t.Context(), settings, config, &c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []component.Component{traces, metrics} { // one server, which has both by now
		if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Shutdown(context.Background()) }) // it has answered everything
	}
	return c
}

func build(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/settle")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// script runs a prompt against a fake model, and returns the standard error.
func script(t *testing.T, dir, scenario string, environ ...string) string {
	t.Helper()
	path := filepath.Join(dir, "scenario.json")
	if err := os.WriteFile(path, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	settle := filepath.Join(dir, "settle")
	environ = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=" + key}, environ...)
	fake := exec.CommandContext(t.Context(), settle, "fake-model", "--scenario", path)
	fake.Env = environ
	out, err := fake.StdoutPipe()
	if err == nil {
		err = fake.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fake.Process.Kill(); _ = fake.Wait() }() // it is stateless
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base := line[strings.Index(line, "http"):]
	var stderr strings.Builder
	run := exec.CommandContext(
		t.Context(), settle, "run", "-q", "-C", work, "--model", "openai/gpt-5", "--retry-for", "10s",
		"a secret question",
	)
	run.Env, run.Stderr = append(environ, "OPENAI_BASE_URL="+strings.TrimSpace(base)), &stderr
	if err := run.Run(); err != nil {
		t.Logf("%v: %s", err, stderr.String())
	}
	return stderr.String()
}

const scenario = `{"turns": [
	{"items": [{"call": "shell", "arguments": {"command": "echo the-output; echo $OTEL_EXPORTER_OTLP_HEADERS; exit 3"}}], "usage": {"input": 1200, "cache_read": 800, "output": 60},
		"faults": [{"fault": "status", "status": 500, "times": 1}]},
	{"items": [{"call": "task", "arguments": {"description": "look", "prompt": "Look there."}}], "usage": {"input": 1300, "output": 5}},
	{"items": [{"say": "Seen."}], "usage": {"input": 100, "output": 2}},
	{"items": [{"say": "The answer."}], "usage": {"input": 1400, "output": 7}}
]}`

// lines describes spans as a tree, each with the attributes that are asked for.
func lines(spans []ptrace.Span, names ...string) []string {
	children := map[pcommon.SpanID][]ptrace.Span{}
	known := map[pcommon.SpanID]bool{}
	for _, s := range spans {
		if known[s.SpanID()] {
			return []string{"the id of " + s.Name() + " is that of another span, too"}
		}
		known[s.SpanID()] = true
	}
	for _, s := range spans {
		above := s.ParentSpanID()
		if !known[above] {
			above = pcommon.SpanID{}
		}
		children[above] = append(children[above], s)
	}
	var out []string
	var walk func(of pcommon.SpanID, indent string)
	walk = func(of pcommon.SpanID, indent string) {
		below := children[of]
		slices.SortFunc(below, func(a, b ptrace.Span) int { return int(a.StartTimestamp()) - int(b.StartTimestamp()) })
		for _, s := range below {
			line := indent + s.Name() + " " + s.Kind().String()
			for _, name := range names {
				if v, ok := s.Attributes().Get(name); ok {
					line += fmt.Sprintf(" %s=%s", name[strings.LastIndex(name, ".")+1:], v.AsString())
				}
			}
			if s.Status().Code() != ptrace.StatusCodeUnset {
				line += " " + s.Status().Code().String()
			}
			out = append(out, line)
			walk(s.SpanID(), indent+"  ")
		}
	}
	walk(pcommon.SpanID{}, "")
	return out
}

func (c *collector) spans() (all []ptrace.Span) {
	for _, traces := range c.traces.AllTraces() {
		for _, r := range traces.ResourceSpans().All() {
			for _, s := range r.ScopeSpans().All() {
				for _, span := range s.Spans().All() {
					all = append(all, span)
				}
			}
		}
	}
	return all
}

func TestTraces(t *testing.T) {
	dir := build(t)
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			c := newCollector(t)
			stderr := script(
				t, dir, scenario, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression,
				"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=a%2Cb",
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20a-token-that-is-never-shown",
				"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			)
			if stderr != "" {
				t.Errorf("standard error: %s", stderr)
			}
			spans := c.spans()
			got := strings.Join(
				lines(
					spans, "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.usage.input_tokens",
					"gen_ai.usage.cache_read.input_tokens", "gen_ai.response.finish_reasons", "error.type",
					"http.response.status_code", "process.exit.code", "settle.turn.outcome", "settle.turn.calls",
				),
				"\n",
			)
			want := `invoke_agent settle Internal name=invoke_agent name=openai input_tokens=3900 input_tokens=800 outcome=completed calls=2
  chat gpt-5 Client name=chat name=openai type=server status_code=500 Error
  chat gpt-5 Client name=chat name=openai input_tokens=1200 input_tokens=800 finish_reasons=["tool_use"]
  execute_tool shell Internal name=execute_tool type=failed code=3 Error
  chat gpt-5 Client name=chat name=openai input_tokens=1300 finish_reasons=["tool_use"]
  execute_tool task Internal name=execute_tool
    invoke_agent settle Internal name=invoke_agent name=openai input_tokens=100 outcome=completed
      chat gpt-5 Client name=chat name=openai input_tokens=100 finish_reasons=["end_turn"]
  chat gpt-5 Client name=chat name=openai input_tokens=1400 finish_reasons=["end_turn"]`
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for _, s := range spans {
				if s.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
					t.Errorf("%s is in trace %s", s.Name(), s.TraceID())
				}
				if s.EndTimestamp() < s.StartTimestamp() {
					t.Errorf("%s ends before it starts", s.Name())
				}
				if s.Name() == "chat gpt-5" && s.Status().Code() != ptrace.StatusCodeError {
					if v, ok := s.Attributes().Get("gen_ai.response.time_to_first_chunk"); !ok || v.Double() <= 0 {
						t.Errorf("%v", s.Attributes().AsRaw())
					}
				}
			}
			if !slices.ContainsFunc(
				spans,
				func(s ptrace.Span) bool { return s.ParentSpanID().String() == "b7ad6b7169203331" },
			) {
				t.Errorf("no turn is below the parent")
			}
			resource := c.traces.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().AsRaw()
			if resource["service.name"] != "mine" || resource["team"] != "a,b" {
				t.Errorf("%v", resource)
			}
			marshaler := ptrace.JSONMarshaler{}
			for _, traces := range c.traces.AllTraces() {
				text, err := marshaler.MarshalTraces(traces)
				for _, secret := range []string{"a secret question", "the-output", "The answer", key, "never-shown"} {
					if err != nil || strings.Contains(string(text), secret) {
						t.Errorf("%v, %q is exported: %s", err, secret, text)
					}
				}
			}
		})
	}
}

func TestContent(t *testing.T) {
	dir, c := build(t), newCollector(t)
	script(
		t, dir, scenario, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.url,
		"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20a-token-that-is-never-shown",
	)
	var all []string
	for _, s := range c.spans() {
		for name, value := range s.Attributes().All() {
			if strings.HasSuffix(name, "messages") ||
				strings.HasPrefix(name, "gen_ai.tool.call.") && !strings.HasSuffix(name, ".id") {
				all = append(all, name+" "+value.AsString())
			}
		}
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		`gen_ai.input.messages [{"role":"user","parts":[{"type":"text","content":"a secret question"}]}]`,
		`gen_ai.output.messages [{"role":"assistant","parts":[{"type":"text","content":"The answer."}]}]`,
		`gen_ai.input.messages [{"role":"user","parts":[{"type":"text","content":"Look there."}]}]`,
		"gen_ai.tool.call.result the-output",
		`gen_ai.tool.call.arguments {"command":`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "never-shown") {
		t.Errorf("a tool saw the collector's token: %s", text)
	}
}

func TestMetrics(t *testing.T) {
	dir, c := build(t), newCollector(t)
	script(t, dir, scenario, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+c.url+"/v1/metrics")
	if n := len(c.spans()); n > 0 {
		t.Errorf("%d spans were exported", n)
	}
	got := map[string]string{}
	for _, metrics := range c.metrics.AllMetrics() {
		for _, r := range metrics.ResourceMetrics().All() {
			for _, s := range r.ScopeMetrics().All() {
				for _, m := range s.Metrics().All() {
					describe(got, m)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"settle.turns completed":                                          "2",
		"settle.attempts openai gpt-5 failed":                             "1",
		"settle.attempts openai gpt-5 completed":                          "4",
		"settle.retries openai gpt-5 server":                              "1",
		"settle.tokens openai gpt-5 input":                                "4000",
		"settle.tool_calls shell failed":                                  "1",
		"settle.turns_running":                                            "0",
		"settle.turn_duration s completed":                                "n=2",
		"settle.time_to_first_token s openai gpt-5":                       "n=4",
		"gen_ai.client.operation.duration s chat openai gpt-5":            "n=4",
		"gen_ai.client.operation.duration s chat openai gpt-5 server":     "n=1",
		"gen_ai.client.operation.time_to_first_chunk s chat openai gpt-5": "n=4",
		"gen_ai.client.token.usage {token} chat openai gpt-5 input":       "n=4 sum=4000",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func describe(all map[string]string, m pmetric.Metric) {
	label := func(a pcommon.Map) string {
		name := m.Name()
		if m.Unit() != "" {
			name += " " + m.Unit()
		}
		for _, v := range a.All() {
			name += " " + v.AsString()
		}
		return name
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for _, p := range m.Gauge().DataPoints().All() {
			all[label(p.Attributes())] = fmt.Sprint(p.DoubleValue())
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			if m.Sum().IsMonotonic() && m.Sum().AggregationTemporality() == pmetric.AggregationTemporalityCumulative {
				all[label(p.Attributes())] = fmt.Sprint(p.DoubleValue())
			}
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			var n uint64
			for _, count := range p.BucketCounts().All() {
				n += count
			}
			if n == p.Count() && p.BucketCounts().Len() == p.ExplicitBounds().Len()+1 &&
				m.Histogram().AggregationTemporality() == pmetric.AggregationTemporalityCumulative {
				all[label(p.Attributes())] = fmt.Sprintf("n=%d sum=%v", n, p.Sum())
			}
		}
	}
}
