package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example:4318/base/"
	usual := func(url string) *Endpoint {
		return &Endpoint{URL: url, Headers: map[string]string{}, Timeout: 10 * time.Second}
	}
	for name, c := range map[string]struct {
		environ         string
		traces, metrics *Endpoint
		wrong           string
	}{
		"nothing":  {environ: "OTEL_SERVICE_NAME=a"},
		"disabled": {environ: all + " OTEL_SDK_DISABLED=TRUE"},
		"both": {
			environ: all, traces: usual("https://c.example:4318/base/v1/traces"),
			metrics: usual("https://c.example:4318/base/v1/metrics"),
		},
		"without metrics": {
			environ: all + " OTEL_METRICS_EXPORTER=none", traces: usual("https://c.example:4318/base/v1/traces"),
		},
		"the usual place": {environ: "OTEL_TRACES_EXPORTER=otlp", traces: usual("http://localhost:4318/v1/traces")},
		"a query": {
			environ: "OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://u:p@h/?key=Q/",
			traces:  usual("http://u:p@h/v1/traces?key=Q/"),
		},
		"a query of its own": {
			environ: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/spans/?key=Q",
			traces:  usual("http://h/spans/?key=Q"),
		},
		"a path with %2F": {
			environ: "OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://h/a%2Fb?key=Q",
			traces:  usual("http://h/a%2Fb/v1/traces?key=Q"),
		},
		"only a host": {
			environ: "OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://h?key=Q",
			traces:  usual("http://h/v1/traces?key=Q"),
		},
		"a fragment": {
			environ: "OTEL_EXPORTER_OTLP_ENDPOINT=http://h/#part",
			wrong:   "OTEL_EXPORTER_OTLP_ENDPOINT=http://h/#***: use a URL without #",
		},
		"an empty fragment": {
			environ: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/spans#",
			wrong:   "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/spans#***: use a URL without #",
		},
		"a place of its own": {environ: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/spans", traces: usual("http://h/spans")},
		"all of it": {
			environ: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h/spans OTEL_EXPORTER_OTLP_HEADERS=no=1 OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=b%20c,,x-y=d=e OTEL_EXPORTER_OTLP_TIMEOUT=500 OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			traces: &Endpoint{
				URL: "http://h/spans", Headers: map[string]string{"a": "b c", "x-y": "d=e"},
				Timeout: 500 * time.Millisecond, Gzip: true,
			},
		},
		"gRPC": {
			environ: all + " OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc",
			metrics: usual("https://c.example:4318/base/v1/metrics"),
			wrong:   "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc: use http/protobuf, whose port is usually 4318",
		},
		"gRPC for both": {
			environ: all + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
			wrong:   "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: use http/protobuf, whose port is usually 4318",
		},
		"no URL": {
			environ: "OTEL_EXPORTER_OTLP_ENDPOINT=c.example:4317",
			wrong:   "OTEL_EXPORTER_OTLP_ENDPOINT=c.example:4317: use a URL such as http://localhost:4318",
		},
		"another exporter": {
			environ: "OTEL_TRACES_EXPORTER=console", wrong: "OTEL_TRACES_EXPORTER=console: use otlp or none",
		},
		"no header": {
			environ: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://h/m OTEL_EXPORTER_OTLP_HEADERS=a-secret",
			wrong:   "OTEL_EXPORTER_OTLP_HEADERS: use NAME=VALUE, separated by commas, with %XX for special characters",
		},
		"two lines": {
			environ: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://h/m OTEL_EXPORTER_OTLP_HEADERS=a=b%0Ac",
			wrong:   "OTEL_EXPORTER_OTLP_HEADERS: use NAME=VALUE, separated by commas, with %XX for special characters",
		},
		"a control": {
			environ: all + " OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-a=SECRET%01",
			metrics: usual("https://c.example:4318/base/v1/metrics"),
			wrong:   "OTEL_EXPORTER_OTLP_TRACES_HEADERS: a value has a character that HTTP does not allow",
		},
		"a delete": {
			environ: all + " OTEL_EXPORTER_OTLP_HEADERS=x-a=SECRET%7F",
			wrong:   "OTEL_EXPORTER_OTLP_HEADERS: a value has a character that HTTP does not allow",
		},
		"no time": {
			environ: all + " OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=10s",
			traces:  usual("https://c.example:4318/base/v1/traces"),
			wrong:   "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=10s: use a number of milliseconds",
		},
		"compression": {
			environ: all + " OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=zstd",
			metrics: usual("https://c.example:4318/base/v1/metrics"),
			wrong:   "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=zstd: use gzip or none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Read(environ(c.environ))
			got := Settings{}
			if s != nil {
				got = *s
			}
			if (s == nil) != (c.traces == nil && c.metrics == nil) {
				t.Errorf("got %+v", s)
			}
			if diff := cmp.Diff([]*Endpoint{c.traces, c.metrics}, []*Endpoint{got.Traces, got.Metrics}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != c.wrong {
				t.Errorf("got the error %q, want %q", message, c.wrong)
			}
		})
	}
}

// TestHeadersOfTheExporter: headers that would make requests wrong are refused, and headers that
// HTTP allows are accepted.
func TestHeadersOfTheExporter(t *testing.T) {
	for _, name := range []string{
		"connection", "content-encoding", "Content-Length", "CONTENT-TYPE", "host", "te", "trailer",
		"transfer-encoding", "upgrade",
	} {
		s, err := Read(environ("OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_HEADERS=x-a=b," + name + "=SECRET"))
		if want := "OTEL_EXPORTER_OTLP_HEADERS: leave out " + strings.ToLower(name) +
			", which settle sets itself"; s != nil || err == nil || err.Error() != want {
			t.Errorf("%s: got %v and the error %v, want %s", name, s, err, want)
		}
	}
	s, err := Read(environ("OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_HEADERS=x-a=%09b%C3%A9~"))
	if err != nil || s.Traces.Headers["x-a"] != "\tbé~" {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestSecretsInValues: no part of a value that may be a password is repeated.
func TestSecretsInValues(t *testing.T) {
	for value, want := range map[string]string{
		"user:SECRET@127.0.0.1:14318":       "***@127.0.0.1:14318",
		"SECRET@host":                       "***@host",
		"http://user:SECRET@host:port/":     "http://***@host:port/",
		"https://u:SEC/RET@SECRET@host:1:2": "https://***@host:1:2",
		"ftp://user:SECRET@host":            "***@host",
		"http://u:SEC?RET@host":             "***",
		"http://u:SEC#RET@host":             "***",
		"host?key=SECRET#x":                 "host?***",
		"host#SECRET":                       "host#***",
		"SECRET://x@host":                   "***@host",
		"host:4317":                         "host:4317",
	} {
		for name, before := range map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "", "OTEL_TRACES_EXPORTER": "",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "OTEL_TRACES_EXPORTER=otlp ", "OTEL_EXPORTER_OTLP_COMPRESSION": "OTEL_TRACES_EXPORTER=otlp ",
			"OTEL_EXPORTER_OTLP_TIMEOUT": "OTEL_TRACES_EXPORTER=otlp ", "OTEL_METRIC_EXPORT_INTERVAL": "OTEL_TRACES_EXPORTER=otlp ",
			"OTEL_BSP_SCHEDULE_DELAY": "OTEL_TRACES_EXPORTER=otlp ", "OTEL_TRACES_SAMPLER": "OTEL_TRACES_EXPORTER=otlp ",
			"OTEL_TRACES_SAMPLER_ARG": "OTEL_TRACES_EXPORTER=otlp OTEL_TRACES_SAMPLER=traceidratio ",
		} {
			if _, err := Read(
				environ(before + name + "=" + value),
			); err == nil || !strings.HasPrefix(err.Error(), name+"="+want+": use ") {
				t.Errorf("%s=%s: got the error %v, want %s", name, value, err, want)
			}
		}
	}
}

// environ returns a function that reads variables from a text that separates them by spaces.
func environ(text string) func(string) string {
	all := map[string]string{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

func TestSampler(t *testing.T) {
	for text, want := range map[string]float64{
		"":                               1,
		"OTEL_TRACES_SAMPLER=always_off": 0,
		"OTEL_TRACES_SAMPLER=parentbased_always_on":                                 1,
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.25": 0.25,
	} {
		if s, err := Read(environ("OTEL_TRACES_EXPORTER=otlp " + text)); err != nil || s.Ratio != want {
			t.Errorf("%s: got %v, %v", text, s, err)
		}
	}
	for _, text := range []string{
		"OTEL_TRACES_SAMPLER=some", "OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=2",
	} {
		if _, err := Read(environ("OTEL_TRACES_EXPORTER=otlp " + text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestParent has the cases of https://www.w3.org/TR/trace-context/#traceparent-header.
func TestParent(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for text, want := range map[string]bool{
		"00-" + trace + "-" + span + "-01":                         true,
		"cc-" + trace + "-" + span + "-01-what-the-future-will-be": true,
		"00-" + trace + "-" + span + "-01-more":                    false,
		"ff-" + trace + "-" + span + "-01":                         false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":       false,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":      false,
		"00-" + trace + "-" + span:                                 false,
		"00-" + trace[:31] + "x-" + span + "-01":                   false,
		"":                                                         false,
	} {
		if p := parent(text); p.IsSampled() != want || p.IsValid() != want {
			t.Errorf("%q: got %+v", text, p)
		}
	}
	if p := parent("00-" + trace + "-" + span + "-00"); p.IsSampled() || !p.IsValid() {
		t.Errorf("a parent that is not sampled: %+v", p)
	}
}
