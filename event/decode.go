package event

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decoder reads the events of one log in order. The events share equal strings, such as
// the id of their turn. The zero Decoder is ready.
type Decoder struct {
	session, turn, attempt, item, by string
	provider, model, basis, tool     string
}

// Decode returns the event of a line. It keeps nothing of the line.
func (d *Decoder) Decode(line []byte) (Event, error) {
	if e, ok := d.quick(line); ok {
		return e, nil
	}
	return decodeAny(line)
}

// decodeAny reads any JSON.
func decodeAny(raw []byte) (Event, error) {
	var w envelope
	err := json.Unmarshal(raw, &w)
	if w.V > Version { // first, since a newer envelope need not decode
		return Event{}, fmt.Errorf("cannot decode event %d: %w", w.Seq, &NewerVersionError{Version: w.V})
	}
	if err != nil {
		return Event{}, fmt.Errorf("cannot decode an event: %w", err)
	}
	if w.V < 1 || w.Kind == "" {
		return Event{}, errors.New("cannot decode an event: it has no version or no kind")
	}
	data, err := decodeData(w.Kind, w.Data)
	if err != nil {
		return Event{}, fmt.Errorf("cannot decode event %d (%s): %w", w.Seq, w.Kind, err)
	}
	return Event{
		V: w.V, Session: w.Session, Seq: w.Seq, At: w.At.UTC(), Turn: w.Turn, Attempt: w.Attempt,
		Item: w.Item, By: w.By, Volatile: w.Durable != nil && !*w.Durable, Data: data,
	}, nil
}

// quick reads a line as [Event.AppendJSON] writes it.
func (d *Decoder) quick(line []byte) (e Event, ok bool) {
	p := &lineScanner{b: line}
	p.expect(`{"v":`)
	e.V = int(p.int())
	p.later = true
	p.known("session", &d.session)
	p.expect(`,"seq":`)
	seq := p.int()
	p.expect(`,"at":"`)
	if p.failed || e.V < 1 || e.V > Version || seq < 0 {
		return e, false
	}
	e.Seq = uint64(seq)
	from := p.at
	p.at += simple(line[from:])
	if e.At.UnmarshalText(line[from:p.at]) != nil {
		return e, false
	}
	p.expect(`"`)
	p.known("turn", &d.turn)
	p.known("attempt", &d.attempt)
	p.known("item", &d.item)
	p.known("by", &d.by)
	e.Volatile = p.literal(`,"durable":false`)
	p.expect(`,"kind":"`)
	kind := p.at
	p.at += simple(line[kind:])
	name := line[kind:min(p.at, len(line))]
	p.expect(`","data":`)
	if p.failed || p.at >= len(line)-1 || line[len(line)-1] != '}' {
		return e, false
	}
	e.At = e.At.UTC()
	e.Session, e.Turn, e.Attempt, e.Item, e.By = d.session, d.turn, d.attempt, d.item, d.by
	e.Data, ok = d.data(name, line[p.at:len(line)-1])
	return e, ok
}

// data decodes the data of a kind. Hand-written code decodes the frequent kinds.
func (d *Decoder) data(kind, raw []byte) (Data, bool) {
	p := &lineScanner{b: raw}
	p.begin()
	switch Kind(kind) {
	case KindItemDelta:
		return p.itemDelta()
	case KindItemStarted:
		return d.itemStarted(p)
	case KindItemEnded:
		return d.itemEnded(p)
	case KindCallReady:
		return d.callReady(p)
	case KindCallStarted:
		return p.callStarted()
	case KindAttemptStarted:
		return d.attemptStarted(p)
	case KindAttemptEnded:
		return p.attemptEnded()
	}
	data, err := decodeData(Kind(kind), raw)
	_, unknown := data.(Unknown)
	return data, err == nil && !unknown
}

func (p *lineScanner) itemDelta() (Data, bool) {
	var d ItemDelta
	var stream Stream
	switch {
	case p.literal(`"stream":"text"`):
		stream = Text
	case p.literal(`"stream":"arguments"`):
		stream = Arguments
	case p.literal(`"stream":"output"`):
		stream = Output
	default:
		return nil, false
	}
	p.later = true
	d.Stream = stream
	textField(p, "text", &d.Text)
	d.Notice = p.literal(`,"notice":true`)
	return d, p.end()
}

func (d *Decoder) itemStarted(p *lineScanner) (Data, bool) {
	var s ItemStarted
	p.kind(&s.Type)
	textField(p, "provider_id", &s.ProviderID)
	textField(p, "call_id", &s.CallID)
	p.known("name", &d.tool)
	s.Name = d.tool
	return s, p.end()
}

// kind reads the type of an item.
func (p *lineScanner) kind(to *ItemType) {
	for _, known := range [...]ItemType{Message, Reasoning, ToolCall, Note, Digest} {
		at, later := p.at, p.later
		if p.field("type") && p.literal(`"`+string(known)+`"`) {
			*to = known
			return
		}
		p.at, p.later = at, later
	}
	textField(p, "type", to)
}

func (p *lineScanner) status(to *Status) {
	for _, known := range [...]Status{ItemCompleted, ItemFailed, ItemAborted} {
		if p.literal(`"status":"` + string(known) + `"`) {
			*to, p.later = known, true
			return
		}
	}
	p.failed = true
}

func (d *Decoder) itemEnded(p *lineScanner) (Data, bool) {
	var e ItemEnded
	p.status(&e.Status)
	textField(p, "effects", &e.Effects)
	p.object("cause", &e.Cause)
	p.kind(&e.Type)
	textField(p, "text", &e.Text)
	p.known("provider", &d.provider)
	p.known("model", &d.model)
	e.Provider, e.Model = d.provider, d.model
	textField(p, "provider_id", &e.ProviderID)
	p.object("seal", &e.Signature)
	textField(p, "call_id", &e.CallID)
	p.known("name", &d.tool)
	e.Name = d.tool
	textField(p, "arguments", &e.Arguments)
	p.object("sent", &e.Sent)
	textField(p, "output", &e.Output)
	textField(p, "output_file", &e.OutputFile)
	numberField(p, "output_bytes", &e.OutputBytes)
	if p.field("exit_code") {
		code := int(p.int())
		e.ExitCode = &code
	}
	p.object("detail", &e.Detail)
	p.object("jobs", &e.Jobs)
	p.object("survivors", &e.Survivors)
	textField(p, "child", &e.Child)
	textField(p, "instruction", &e.Instruction)
	textField(p, "effective_arguments", &e.Effective)
	return e, p.end()
}

func (d *Decoder) callReady(p *lineScanner) (Data, bool) {
	var c CallReady
	p.known("name", &d.tool)
	c.Name = d.tool
	textField(p, "call_id", &c.CallID)
	textField(p, "arguments", &c.Arguments)
	p.object("sent", &c.Sent)
	p.object("seal", &c.Signature)
	return c, p.end()
}

func (p *lineScanner) callStarted() (Data, bool) {
	var c CallStarted
	textField(p, "title", &c.Title)
	textField(p, "sandbox", &c.Sandbox)
	textField(p, "secrets", &c.Secrets)
	textField(p, "arguments", &c.Arguments)
	p.object("places", &c.Places)
	return c, p.end()
}

func (d *Decoder) attemptStarted(p *lineScanner) (Data, bool) {
	var a AttemptStarted
	numberField(p, "step", &a.Step)
	numberField(p, "n", &a.N)
	p.known("provider", &d.provider)
	p.known("model", &d.model)
	a.Provider, a.Model = d.provider, d.model
	p.object("inputs", &a.Inputs)
	numberField(p, "max_tokens", &a.MaxTokens)
	numberField(p, "trimmed", &a.Trimmed)
	p.known("basis", &d.basis)
	a.Basis = d.basis
	textField(p, "purpose", &a.Purpose)
	return a, p.end()
}

func (p *lineScanner) attemptEnded() (Data, bool) {
	var a AttemptEnded
	textField(p, "outcome", &a.Outcome)
	textField(p, "reason", &a.Reason)
	textField(p, "stop_reason", &a.StopReason)
	textField(p, "response_id", &a.ResponseID)
	p.object("usage", &a.Usage)
	if p.field("usage_estimated") {
		p.expect("true")
		a.Estimated = true
	}
	p.decimal("cost_usd", &a.Cost)
	p.object("error", &a.Failure)
	if p.field("retry_in_ms") {
		ms := p.int()
		a.RetryIn = &ms
	}
	p.object("tokens", &a.Tokens)
	p.object("discarded", &a.Discarded)
	return a, p.end()
}
