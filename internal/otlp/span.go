package otlp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/metrics"
)

// The fields of Span, its kinds, and the code of its status.
const (
	spanTrace, spanID, spanParent, spanName, spanKind = 1, 2, 4, 5, 6
	spanStart, spanEnd, spanAttributes, spanStatus    = 7, 8, 9, 15
	kindInternal, kindClient                          = 1, 3
	statusMessage, statusCode, statusError            = 2, 3, 2
)

// span is a turn, an attempt or a call that runs.
type span struct {
	trace      [16]byte
	id, parent [8]byte
	sampled    bool
	name       string
	kind       uint64
	started    time.Time
	with       attributes
}

// spanKey is the key of the span in a context.
type spanKey struct{}

// hash makes an id of those of a session, a turn, and what is in it; the last is empty
// for the turn itself.
func hash(session, turn, id string) [sha256.Size]byte {
	return sha256.Sum256([]byte(session + "/" + turn + "/" + id))
}

// begin returns a span below another one.
func begin(above *span, e event.Event, id, name string, kind uint64, operation string) *span {
	sum := hash(e.Session, e.Turn, id)
	s := &span{trace: above.trace, id: [8]byte(sum[:]), parent: above.id, sampled: above.sampled, name: name, kind: kind, started: e.At}
	s.with.field = spanAttributes
	s.with.str("gen_ai.operation.name", operation)
	s.with.str("gen_ai.conversation.id", e.Session)
	return s
}

// root returns what a turn's span is below: the call that started the child agent whose
// session it is in, the parent of the whole program, or nothing but a trace.
func (x *Exporter) root(session, turn string) *span {
	const generations = 16 // more than there can be
	var call [sha256.Size]byte
	for n := range generations {
		var from event.SessionOpened
		x.source.Look(session, func(s event.State) { from = s.Host })
		if from.Parent == "" {
			break
		}
		session, turn = from.Parent, from.ParentTurn
		if n == 0 {
			call = hash(session, turn, from.ParentCall)
		}
	}
	top := &span{trace: x.settings.Parent.Trace, id: x.settings.Parent.Span, sampled: x.settings.Parent.Sampled}
	if top.trace == [16]byte{} {
		sum := hash(session, turn, "trace")
		top.trace = [16]byte(sum[:])
		// The lowest bits decide, as other programs' samplers have it.
		top.sampled = float64(binary.BigEndian.Uint64(top.trace[8:])>>1) < x.settings.Ratio*(1<<63)
	}
	if call != [sha256.Size]byte{} {
		top.id = [8]byte(call[:])
	}
	return top
}

// Turn exports a turn. It is the observer's hook of that name, as are Attempt, Output
// and Call.
func (x *Exporter) Turn(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Turn(ctx, started)
	d, _ := started.Data.(event.TurnStarted)
	s := begin(x.root(started.Session, started.Turn), started, "", "invoke_agent settle", kindInternal, "invoke_agent")
	s.with.str("gen_ai.agent.name", "settle")
	s.with.str("gen_ai.provider.name", metrics.ProviderName(d.Provider))
	s.with.str("gen_ai.request.model", d.Model)
	s.with.str("settle.turn.id", started.Turn)
	s.with.str("settle.turn.purpose", string(d.Purpose))
	if x.settings.Content {
		s.say("gen_ai.input.messages", "user", x.inputs(started))
	}
	return context.WithValue(ctx, spanKey{}, s), func(ended event.Event) {
		count(ended)
		outcome, cause := metrics.Ending(ended.Data)
		s.with.str("settle.turn.outcome", outcome)
		s.with.str("settle.turn.cause", cause)
		if outcome != string(event.Completed) {
			s.with.str("error.type", cmp.Or(cause, outcome))
		}
		s.with.str("settle.turn.by", x.label(ended.By))
		sum, failure := summary(ended.Data)
		s.usage(sum.Usage)
		s.with.float("settle.cost_usd", sum.Cost)
		s.with.num("settle.turn.steps", int64(sum.Steps))
		s.with.num("settle.turn.attempts", int64(sum.Attempts))
		s.with.num("settle.turn.calls", int64(sum.Calls))
		if d, ok := ended.Data.(event.TurnCompleted); ok && x.settings.Content {
			s.say("gen_ai.output.messages", "assistant", []string{d.Answer})
		}
		x.end(s, ended.At, outcome == string(event.Failed), x.reason(failure))
	}
}

// summary returns what a turn's ending says of it, and why it failed.
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

// reason says why something failed. Without content, that is the type of the failure and
// its status: a provider may have written the message, and quotes prompts.
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

func (s *span) usage(u event.Usage) {
	s.with.num("gen_ai.usage.input_tokens", u.Input)
	s.with.num("gen_ai.usage.output_tokens", u.Output)
	s.with.num("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
	s.with.num("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
	s.with.num("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
}

// Attempt exports a request to a model.
func (x *Exporter) Attempt(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Attempt(ctx, started)
	above, _ := ctx.Value(spanKey{}).(*span)
	if above == nil {
		return ctx, count
	}
	d, _ := started.Data.(event.AttemptStarted)
	s := begin(above, started, started.Attempt, "chat "+d.Model, kindClient, "chat")
	s.with.str("gen_ai.provider.name", metrics.ProviderName(d.Provider))
	s.with.str("gen_ai.request.model", d.Model)
	s.with.num("gen_ai.request.max_tokens", int64(d.MaxTokens))
	s.with.num("settle.attempt.step", int64(d.Step))
	s.with.num("settle.attempt.number", int64(d.N))
	s.with.str("settle.attempt.purpose", string(d.Purpose))
	return context.WithValue(ctx, spanKey{}, s), func(ended event.Event) {
		count(ended)
		end, _ := ended.Data.(event.AttemptEnded)
		s.with.str("settle.attempt.outcome", string(cmp.Or(end.Outcome, metrics.Unrecorded)))
		s.with.str("gen_ai.response.id", x.label(end.ResponseID))
		s.with.list("gen_ai.response.finish_reasons", x.label(end.StopReason))
		s.usage(end.Usage)
		if end.Cost != nil {
			s.with.float("settle.cost_usd", *end.Cost)
		}
		s.with.str("error.type", metrics.ErrorType(end))
		if f := end.Failure; f != nil {
			s.with.num("http.response.status_code", int64(f.Status))
		}
		if end.RetryIn != nil {
			s.with.float("settle.attempt.retry_delay", float64(*end.RetryIn)/1000)
		}
		x.end(s, ended.At, end.Failure != nil, x.reason(end.Failure))
	}
}

// Output notes how long it took until the model's first output.
func (x *Exporter) Output(ctx context.Context, started, first event.Event) {
	x.meter.Output(ctx, started, first)
	// The attempt's goroutine calls it before the attempt ends.
	if s, _ := ctx.Value(spanKey{}).(*span); s != nil && !first.At.IsZero() {
		s.with.float("gen_ai.response.time_to_first_chunk", first.At.Sub(started.At).Seconds())
	}
}

// Call exports a tool call.
func (x *Exporter) Call(ctx context.Context, tool string, started event.Event) (context.Context, func(event.Event)) {
	_, count := x.meter.Call(ctx, tool, started)
	above, _ := ctx.Value(spanKey{}).(*span)
	if above == nil {
		return ctx, count
	}
	s := begin(above, started, started.Item, "execute_tool "+tool, kindInternal, "execute_tool")
	s.with.str("gen_ai.tool.name", tool)
	s.with.str("gen_ai.tool.type", "function")
	s.with.str("gen_ai.tool.call.id", started.Item)
	return ctx, func(ended event.Event) {
		count(ended)
		end, _ := ended.Data.(event.ItemEnded)
		status := string(cmp.Or(end.Status, event.Status(metrics.Unrecorded)))
		s.with.str("settle.call.status", status)
		s.with.str("settle.call.effects", string(end.Effects))
		if end.ExitCode != nil && *end.ExitCode != 0 {
			s.with.num("process.exit.code", int64(*end.ExitCode))
		}
		s.with.num("settle.call.output_bytes", end.OutputBytes)
		if end.Status != event.ItemCompleted {
			s.with.str("error.type", cmp.Or(metrics.CauseOf(end.Cause), status))
		}
		why := ""
		if x.settings.Content {
			if end.Cause != nil {
				why = end.Cause.Message
			}
			s.with.str("gen_ai.tool.call.arguments", clip(end.RanWith()))
			s.with.str("gen_ai.tool.call.result", clip(end.Output))
		}
		x.end(s, ended.At, end.Status == event.ItemFailed, why)
	}
}

// end encodes a span that has ended.
func (x *Exporter) end(s *span, at time.Time, failed bool, why string) {
	if !s.sampled || x.settings.Traces == nil {
		return
	}
	if at.IsZero() { // the log did not take its ending
		at = time.Now()
	}
	var m message
	m.bytes(spanTrace, s.trace[:])
	m.bytes(spanID, s.id[:])
	if s.parent != [8]byte{} {
		m.bytes(spanParent, s.parent[:])
	}
	m.text(spanName, valid(s.name))
	m.varint(spanKind, s.kind)
	m.time(spanStart, s.started)
	m.time(spanEnd, at)
	m = append(m, s.with.message...)
	if failed {
		var status message
		if why != "" {
			status.text(statusMessage, valid(clip(why)))
		}
		status.varint(statusCode, statusError)
		m.bytes(spanStatus, status)
	}
	x.add(m)
}

// part and said are a message in the form of the semantic conventions
// (gen-ai-input-messages.json and gen-ai-output-messages.json there).
type part struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

type said struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// say adds messages.
func (s *span) say(name, role string, texts []string) {
	all := []said{}
	for _, text := range texts {
		all = append(all, said{role, []part{{"text", clip(text)}}})
	}
	if text, err := json.Marshal(all); err == nil {
		s.with.str(name, string(text))
	}
}

// inputs returns what a turn was asked when it started.
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

// maxText is how many bytes of a text are exported.
const maxText = 32 << 10

func clip(s string) string {
	return bound.Clip(s, maxText)
}

// valid is the text without what no protobuf may have.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
