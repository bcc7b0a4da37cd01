package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Settings are the values of OpenTelemetry's environment variables
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
type Settings struct {
	// Traces and Metrics are the endpoints of the exports; nil for no export.
	Traces, Metrics *Endpoint
	// Resource are attributes of this program, beside its own.
	Resource map[string]string
	// Interval is the time between two exports of metrics, Delay between two of spans.
	Interval, Delay time.Duration
	// Ratio is the share of the traces without a parent that is sampled.
	Ratio float64
	// Parent is the span that the program runs in; it is not valid if there is none.
	Parent trace.SpanContext
	// Content reports that prompts, answers, arguments and results are exported as well.
	Content bool
}

// Endpoint is the address to which a signal is sent.
type Endpoint struct {
	URL     string
	Headers map[string]string
	Timeout time.Duration
	Gzip    bool
}

// Read returns the settings of the variables. It returns nil if nothing is exported, which
// is the default: an endpoint variable, or the value "otlp" of OTEL_TRACES_EXPORTER or
// OTEL_METRICS_EXPORTER, enables the export. A signal with an unusable variable is not
// exported; the error has the reason.
func Read(getenv func(string) string) (*Settings, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	r := reader{getenv: getenv}
	s := &Settings{Traces: r.endpoint("TRACES", "/v1/traces"), Metrics: r.endpoint("METRICS", "/v1/metrics")}
	if s.Traces == nil && s.Metrics == nil {
		return nil, r.err()
	}
	s.Resource = r.pairs("OTEL_RESOURCE_ATTRIBUTES")
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		s.Resource["service.name"] = name
	}
	s.Interval = r.duration("OTEL_METRIC_EXPORT_INTERVAL", time.Minute)
	s.Delay = r.duration("OTEL_BSP_SCHEDULE_DELAY", 5*time.Second)
	s.Ratio = r.ratio()
	s.Parent = parent(getenv("TRACEPARENT"))
	switch strings.ToLower(getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "span_only", "span_and_event":
		s.Content = true
	}
	return s, r.err()
}

// reader reads variables and collects their errors.
type reader struct {
	getenv func(string) string
	errs   []string
	failed bool // since this was cleared
}

func (r *reader) refuse(name, instead string) {
	r.fail(fmt.Sprintf("%s=%s: %s", name, masked(r.getenv(name)), instead))
}

// masked hides the parts of a URL that can be secret: all before an @, except the scheme, and all
// after a ? or #. It also works for URLs that cannot be parsed.
func masked(value string) string {
	mask := "***"
	query, at := strings.IndexAny(value, "?#"), strings.LastIndexByte(value, '@')
	switch {
	case query >= 0 && query < at: // the one or the other is part of a password
		return mask
	case query >= 0:
		value = value[:query+1] + mask
	}
	if at < 0 {
		return value
	}
	if scheme, _, _ := strings.Cut(value, "://"); scheme == "http" || scheme == "https" {
		mask = scheme + "://" + mask
	}
	return mask + value[at:]
}

// fail notes an error, unless it is known: two signals can have one variable.
func (r *reader) fail(text string) {
	r.failed = true
	if !slices.Contains(r.errs, text) {
		r.errs = append(r.errs, text)
	}
}

// err returns the collected errors.
func (r *reader) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.errs, "; "))
}

// either returns the name of a signal's variable if it is set, otherwise the name of the
// variable for all signals.
func (r *reader) either(signal, name string) string {
	if own := "OTEL_EXPORTER_OTLP_" + signal + "_" + name; r.getenv(own) != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + name
}

// endpoint returns where a signal is sent; nil if it is not.
func (r *reader) endpoint(signal, path string) *Endpoint {
	at := r.either(signal, "ENDPOINT")
	switch exporter := r.getenv("OTEL_" + signal + "_EXPORTER"); {
	case exporter == "none", exporter == "" && r.getenv(at) == "":
		return nil
	case exporter != "" && exporter != "otlp":
		r.refuse("OTEL_"+signal+"_EXPORTER", "use otlp or none")
		return nil
	}
	r.failed = false
	target := cmp.Or(r.getenv(at), "http://localhost:4318")
	switch u, err := url.Parse(target); {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.refuse(at, "use a URL such as http://localhost:4318")
	case strings.Contains(target, "#"):
		r.refuse(at, "use a URL without #")
	case at == "OTEL_EXPORTER_OTLP_ENDPOINT":
		target = u.JoinPath(path).String() // a query stays behind it
	}
	if name := r.either(signal, "PROTOCOL"); r.getenv(name) != "" && r.getenv(name) != "http/protobuf" {
		r.refuse(name, "use http/protobuf, whose port is usually 4318")
	}
	e := &Endpoint{URL: target, Headers: r.headers(r.either(signal, "HEADERS"))}
	e.Timeout = r.duration(r.either(signal, "TIMEOUT"), 10*time.Second)
	switch name := r.either(signal, "COMPRESSION"); r.getenv(name) {
	case "gzip":
		e.Gzip = true
	case "", "none":
	default:
		r.refuse(name, "use gzip or none")
	}
	if r.failed {
		return nil
	}
	return e
}

// headers reads headers. It refuses headers that no request can have, and headers that the exporter
// sets itself.
func (r *reader) headers(variable string) map[string]string {
	all := r.pairs(variable)
	for name, value := range all {
		switch strings.ToLower(name) {
		case "connection",
			"content-encoding",
			"content-length",
			"content-type",
			"host",
			"te",
			"trailer",
			"transfer-encoding",
			"upgrade":
			r.fail(variable + ": leave out " + strings.ToLower(name) + ", which settle sets itself")
		}
		// https://www.rfc-editor.org/rfc/rfc9110#section-5.5
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			r.fail(variable + ": a value has a character that HTTP does not allow")
		}
	}
	return all
}

// pairs reads name=value,…, whose values may have %XX in them. Its errors name no value:
// it may be a password.
func (r *reader) pairs(variable string) map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(r.getenv(variable), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || !isToken(name) ||
			strings.ContainsAny(value, "\r\n\x00") {
			r.fail(variable + ": use NAME=VALUE, separated by commas, with %XX for special characters")
			continue
		}
		all[name] = value
	}
	return all
}

// isToken reports whether name is a valid HTTP header name.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(
		name,
		func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) },
	)
}

// duration reads milliseconds.
func (r *reader) duration(name string, usual time.Duration) time.Duration {
	text := r.getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > int(24*time.Hour/time.Millisecond) {
		r.refuse(name, "use a number of milliseconds")
		return usual
	}
	return time.Duration(n) * time.Millisecond
}

// ratio reads the share of the traces without a parent that is sampled.
func (r *reader) ratio() float64 {
	const name = "OTEL_TRACES_SAMPLER"
	switch strings.TrimPrefix(r.getenv(name), "parentbased_") {
	case "", "always_on":
		return 1
	case "always_off":
		return 0
	case "traceidratio":
		arg := cmp.Or(r.getenv(name+"_ARG"), "1")
		if ratio, err := strconv.ParseFloat(arg, 64); err == nil && ratio >= 0 && ratio <= 1 {
			return ratio
		}
		r.refuse(name+"_ARG", "use a number from 0 to 1")
		return 1
	}
	r.refuse(name, "use always_on, always_off, traceidratio, or one of them after parentbased_")
	return 1
}

// parent reads a traceparent (https://www.w3.org/TR/trace-context/#traceparent-header).
// One that is not valid is ignored, as the specification says.
func parent(text string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": strings.TrimSpace(text)}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// sampler returns the decision on each trace: the parent's, if there is one.
func (s *Settings) sampler() sdktrace.Sampler {
	switch {
	case !s.Parent.IsValid():
		return sdktrace.TraceIDRatioBased(s.Ratio)
	case s.Parent.IsSampled():
		return sdktrace.AlwaysSample()
	}
	return sdktrace.NeverSample()
}
