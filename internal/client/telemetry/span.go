package telemetry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/client/metrics"
)

// span is a turn, an attempt or a tool call that runs.
type span struct{ trace.Span }

// str sets an attribute to a text, unless it is empty.
func (s span) str(key attribute.Key, value string) {
	if value != "" {
		s.SetAttributes(key.String(valid(value)))
	}
}

// list sets an attribute to a list of one text, unless the text is empty.
func (s span) list(key attribute.Key, value string) {
	if value != "" {
		s.SetAttributes(key.StringSlice([]string{valid(value)}))
	}
}

// num sets an attribute to a number, unless it is 0.
func (s span) num(key attribute.Key, value int64) {
	if value != 0 {
		s.SetAttributes(key.Int64(value))
	}
}

// float sets an attribute to a number, unless it is 0.
func (s span) float(key attribute.Key, value float64) {
	if value != 0 {
		s.SetAttributes(key.Float64(value))
	}
}

// hash makes a span ID from the IDs of a session, a turn and an element of the turn; the
// last is empty for the turn itself.
func hash(session, turn, id string) [sha256.Size]byte {
	return sha256.Sum256([]byte(session + "/" + turn + "/" + id))
}

// idKey is the context key of the id of a span that begins.
type idKey struct{}

// ids gives a span the id in its context. Its trace id is always its parent's.
type ids struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID{}, ids{}.NewSpanID(ctx, trace.TraceID{})
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(idKey{}).(trace.SpanID)
	return id
}

// begin starts a span below the one in the context.
func (x *Exporter) begin(
	ctx context.Context, e event.Event, id, name string, kind trace.SpanKind, operation string,
) (context.Context, span) {
	sum := hash(e.Session, e.Turn, id)
	ctx = context.WithValue(ctx, idKey{}, trace.SpanID(sum[:8]))
	when, what := trace.WithTimestamp(e.At), trace.WithSpanKind(kind)
	//nolint:spancheck // its ending is an event, which ends it
	ctx, started := x.tracer.Start(ctx, valid(name), when, what)
	s := span{started}
	s.str("gen_ai.operation.name", operation)
	s.str("gen_ai.conversation.id", e.Session)
	return ctx, s //nolint:spancheck // as above
}

// above returns a context with the parent of a turn's span: the call that started the child
// agent, else the parent of the whole program, else only a trace.
func (x *Exporter) above(ctx context.Context, session, turn string) context.Context {
	const generations = 16 // more than there can be
	parent := x.settings.Parent
	for n := range generations {
		var from event.SessionOpened
		x.source.Look(session, func(s event.State) { from = s.Host })
		if from.Parent == "" {
			break
		}
		session, turn = from.Parent, from.ParentTurn
		if n == 0 {
			call := hash(session, turn, from.ParentCall)
			parent = parent.WithSpanID(trace.SpanID(call[:8]))
		}
	}
	if !parent.TraceID().IsValid() {
		sum := hash(session, turn, "trace")
		parent = parent.WithTraceID(trace.TraceID(sum[:16]))
	}
	return trace.ContextWithRemoteSpanContext(ctx, parent)
}

// Turn exports a turn. It is the observer's hook of that name, as are Attempt, Output
// and Call.
func (x *Exporter) Turn(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Turn(ctx, started)
	d, _ := started.Data.(event.TurnStarted)
	ctx = x.above(ctx, started.Session, started.Turn)
	ctx, s := x.begin(ctx, started, "", "invoke_agent settle", trace.SpanKindInternal, "invoke_agent")
	s.str("gen_ai.agent.name", "settle")
	s.str("gen_ai.provider.name", metrics.ProviderName(d.Provider))
	s.str("gen_ai.request.model", d.Model)
	s.str("settle.turn.id", started.Turn)
	s.str("settle.turn.purpose", string(d.Purpose))
	if x.settings.Content {
		s.say("gen_ai.input.messages", "user", x.inputs(started))
	}
	return ctx, func(ended event.Event) {
		count(ended)
		outcome, cause := metrics.Ending(ended.Data)
		s.str("settle.turn.outcome", outcome)
		s.str("settle.turn.cause", cause)
		if outcome != string(event.Completed) {
			s.str("error.type", cmp.Or(cause, outcome))
		}
		s.str("settle.turn.by", x.label(ended.By))
		sum, failure := summary(ended.Data)
		s.usage(sum.Usage)
		s.float("settle.cost_usd", sum.Cost)
		s.num("settle.turn.steps", int64(sum.Steps))
		s.num("settle.turn.attempts", int64(sum.Attempts))
		s.num("settle.turn.calls", int64(sum.Calls))
		if d, ok := ended.Data.(event.TurnCompleted); ok && x.settings.Content {
			s.say("gen_ai.output.messages", "assistant", []string{d.Answer})
		}
		s.end(ended.At, outcome == string(event.Failed), x.reason(failure))
	}
}

// summary returns the summary of a turn's ending, and its failure if it failed.
func summary(data event.Data) (event.Summary, *event.Failure) {
	switch d := data.(type) {
	case event.TurnCompleted:
		return d.Summary, nil
	case event.TurnAborted:
		return d.Summary, nil
	case event.TurnFailed:
		return d.Summary, d.Failure
	}
	return event.Summary{}, nil
}

// reason returns the reason of a failure. Without content, it is the kind of the failure and its
// HTTP status: a provider may have written the message, and quotes prompts.
func (x *Exporter) reason(f *event.Failure) string {
	if f == nil {
		return ""
	}
	if x.settings.Content {
		return f.Message
	}
	kind := cmp.Or(f.Kind, f.Name)
	if f.Status != 0 {
		kind += " (HTTP status " + strconv.Itoa(f.Status) + ")"
	}
	return kind
}

// label returns a name that a provider or a client chose. Without content, it is empty if
// it may be a text.
func (x *Exporter) label(name string) string {
	const longest = 256
	isText := len(name) > longest || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f })
	if isText && !x.settings.Content {
		return ""
	}
	return name
}

func (s span) usage(u event.Usage) {
	s.num("gen_ai.usage.input_tokens", u.Input)
	s.num("gen_ai.usage.output_tokens", u.Output)
	s.num("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
	s.num("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
	s.num("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
}

// Attempt exports a request to a model.
func (x *Exporter) Attempt(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Attempt(ctx, started)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, count
	}
	d, _ := started.Data.(event.AttemptStarted)
	ctx, s := x.begin(ctx, started, started.Attempt, "chat "+d.Model, trace.SpanKindClient, "chat")
	s.str("gen_ai.provider.name", metrics.ProviderName(d.Provider))
	s.str("gen_ai.request.model", d.Model)
	s.num("gen_ai.request.max_tokens", int64(d.MaxTokens))
	s.num("settle.attempt.step", int64(d.Step))
	s.num("settle.attempt.number", int64(d.N))
	s.str("settle.attempt.purpose", string(d.Purpose))
	return ctx, func(ended event.Event) {
		count(ended)
		end, _ := ended.Data.(event.AttemptEnded)
		s.str("settle.attempt.outcome", string(cmp.Or(end.Outcome, metrics.Unrecorded)))
		s.str("gen_ai.response.id", x.label(end.ResponseID))
		s.list("gen_ai.response.finish_reasons", x.label(end.StopReason))
		s.usage(end.Usage)
		if end.Cost != nil {
			s.float("settle.cost_usd", *end.Cost)
		}
		s.str("error.type", metrics.ErrorType(end))
		if f := end.Failure; f != nil {
			s.num("http.response.status_code", int64(f.Status))
		}
		if end.RetryIn != nil {
			s.float("settle.attempt.retry_delay", float64(*end.RetryIn)/1000)
		}
		s.end(ended.At, end.Failure != nil, x.reason(end.Failure))
	}
}

// Output notes how long it took until the model's first output.
func (x *Exporter) Output(ctx context.Context, started, first event.Event) {
	x.meter.Output(ctx, started, first)
	// The attempt's goroutine calls it before the attempt ends.
	if s := (span{trace.SpanFromContext(ctx)}); !first.At.IsZero() {
		s.float("gen_ai.response.time_to_first_chunk", first.At.Sub(started.At).Seconds())
	}
}

// Call exports a tool call.
func (x *Exporter) Call(ctx context.Context, tool string, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Call(ctx, tool, started)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, count
	}
	_, s := x.begin(ctx, started, started.Item, "execute_tool "+tool, trace.SpanKindInternal, "execute_tool")
	s.str("gen_ai.tool.name", tool)
	s.str("gen_ai.tool.type", "function")
	s.str("gen_ai.tool.call.id", started.Item)
	return ctx, func(ended event.Event) {
		count(ended)
		end, _ := ended.Data.(event.ItemEnded)
		status := string(cmp.Or(end.Status, event.Status(metrics.Unrecorded)))
		s.str("settle.call.status", status)
		s.str("settle.call.effects", string(end.Effects))
		if end.ExitCode != nil && *end.ExitCode != 0 {
			s.num("process.exit.code", int64(*end.ExitCode))
		}
		s.num("settle.call.output_bytes", end.OutputBytes)
		if end.Status != event.ItemCompleted {
			s.str("error.type", cmp.Or(metrics.CauseOf(end.Cause), status))
		}
		why := ""
		if x.settings.Content {
			if end.Cause != nil {
				why = end.Cause.Message
			}
			s.str("gen_ai.tool.call.arguments", clip(end.RanWith()))
			s.str("gen_ai.tool.call.result", clip(end.Output))
		}
		s.end(ended.At, end.Status == event.ItemFailed, why)
	}
}

// end ends a span. The time is zero if the log did not take its ending.
func (s span) end(at time.Time, failed bool, why string) {
	if failed {
		s.SetStatus(codes.Error, valid(clip(why)))
	}
	s.End(trace.WithTimestamp(at))
}

// part and said are a message in the form of the semantic conventions
// (gen-ai-input-messages.json and gen-ai-output-messages.json there).
type part struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

type chatMessage struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// say adds messages.
func (s span) say(name attribute.Key, role string, texts []string) {
	all := []chatMessage{}
	for _, text := range texts {
		all = append(all, chatMessage{role, []part{{"text", clip(text)}}})
	}
	if text, err := json.Marshal(all); err == nil {
		s.str(name, string(text))
	}
}

// inputs returns the inputs of a turn at its start.
func (x *Exporter) inputs(started event.Event) (texts []string) {
	x.source.Look(started.Session, func(state event.State) {
		if t := state.Turn(started.Turn); t != nil {
			for _, in := range t.Inputs {
				texts = append(texts, in.Text)
			}
		}
	})
	return texts
}

// maxText bounds the exported part of a text, in bytes.
const maxText = 32 << 10

func clip(s string) string {
	return bound.Clip(s, maxText)
}

// valid replaces bytes that protobuf strings cannot have.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
