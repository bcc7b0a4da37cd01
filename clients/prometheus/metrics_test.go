package prometheus

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const scenario = `{"turns": [
	{"items": [{"call": "list", "arguments": {}}], "usage": {"input": 1200, "cache_read": 800, "output": 60},
		"faults": [{"fault": "status", "status": 500, "times": 1}]},
	{"items": [{"say": "Done."}], "usage": {"input": 1300, "output": 5}}
]}`

// start runs settle until the test ends, and returns the first line that it prints.
func start(t *testing.T, dir string, environ []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "settle"), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, environ, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // its context has been cancelled
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

type client struct {
	*testing.T
	base, token string
}

func (c client) do(method, path, body string) (*http.Response, string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		c.Fatalf("%s %s: %s, %v: %s", method, path, answer.Status, err, all)
	}
	return answer, string(all)
}

// turn runs one turn, and returns when it has ended.
func (c client) turn() {
	c.Helper()
	c.do("POST", "/api/sessions", `{"id":"s"}`)
	c.do("POST", "/api/sessions/s/inputs", `{"text":"look around"}`)
	r, err := http.NewRequestWithContext(c.Context(), "GET", c.base+"/api/sessions/s/events?after=0", nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	events, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"kind":"turn.completed"`) {
			break
		}
	}
	c.do("DELETE", "/api/sessions/s", "") // when this has returned, all counted calls have returned
}

func TestPrometheusReadsMetrics(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./cmd/settle")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "scenario.json"), []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=a-key-that-is-never-shown"}
	fake := start(t, dir, environ, "fake-model", "--scenario", "scenario.json")
	base := fake[strings.Index(fake, "http"):]
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(
		start(
			t, dir, append(environ, "OPENAI_BASE_URL="+base), "serve", "-C", work, "--model", "openai/gpt-5",
			"--permission", "allow",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	c := client{T: t, base: "http://" + link.Host, token: strings.TrimPrefix(link.Fragment, "token=")}
	c.turn()

	answer, body := c.do("GET", "/metrics", "")
	if f := expfmt.ResponseFormat(answer.Header); f.FormatType() != expfmt.TypeTextPlain {
		t.Errorf("Prometheus takes it for %v", f)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v:\n%s", err, body)
	}
	if problems, err := promlint.New(strings.NewReader(body)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	checkDocs(t, families)
	for want, n := range map[string]float64{
		"settle_sessions_open":                            0,
		"settle_turns_running":                            0,
		"settle_tool_calls_running":                       0,
		"settle_jobs_running":                             0,
		"settle_approvals_waiting":                        0,
		"settle_time_to_first_token_seconds openai gpt-5": 2,
		"settle_turns_total completed":                    1,
		"settle_turn_duration_seconds completed":          1,
		"settle_attempts_total openai gpt-5 failed":       1,
		"settle_attempts_total openai gpt-5 completed":    2,
		"settle_retries_total openai gpt-5 server":        1,
		"settle_tokens_total openai gpt-5 input":          2500,
		"settle_tokens_total openai gpt-5 cache_read":     800,
		"settle_tokens_total openai gpt-5 output":         65,
		"settle_tool_calls_total list completed":          1,
		"settle_tool_call_duration_seconds list":          1,
		"settle_attempt_duration_seconds openai gpt-5":    3,
	} {
		if got, ok := value(families, want); !ok || got != n {
			t.Errorf("%s is %v (%v), want %v\n%s", want, got, ok, n, body)
		}
	}
}

// value finds a metric by its name and the values of its labels.
func value(families map[string]*dto.MetricFamily, want string) (float64, bool) {
	name, _, _ := strings.Cut(want, " ")
	for _, m := range families[name].GetMetric() {
		key := name
		for _, l := range m.GetLabel() {
			if l.GetValue() != "" {
				key += " " + fmt.Sprint(l.GetValue())
			}
		}
		switch {
		case key != want:
		case m.Counter != nil:
			return m.GetCounter().GetValue(), true
		case m.Gauge != nil:
			return m.GetGauge().GetValue(), true
		case m.Histogram != nil:
			return float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}
