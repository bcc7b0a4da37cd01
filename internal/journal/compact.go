package journal

import (
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
)

// A snapshot stores events in a form that is read without copies of their text. Frequent kinds
// have fields in a fixed order; all others, and events with rare fields, are JSON as in the log.
// An event that would be read back differently is JSON as well, so that no field is lost.

// The forms of events.
const (
	formJSON byte = iota
	formItemStarted
	formItemEnded
	formCallReady
	formCallStarted
	formAttemptStarted
	formAttemptEnded
)

// common are the values that an event probably shares with the previous one.
type common struct {
	seq                                          uint64
	at                                           int64
	session, turn, attempt, item, by             string
	provider, model, basis, tool, stop, itemType string
}

// compactWriter writes events in these forms.
type compactWriter struct {
	common
	out   []byte
	check compactReader // reads the written event back
}

func (w *compactWriter) reset(seq uint64) {
	*w = compactWriter{out: w.out[:0]}
	w.seq, w.check.seq = seq, seq
}

// add appends the event; json is its JSON form.
func (w *compactWriter) add(e event.Event, json []byte) error {
	if d, ok := e.Data.(event.CallReady); ok { // the ending of the call repeats it
		d.Arguments, d.Signature = "", nil
		e.Data = d
	}
	w.out = slices.Grow(w.out, len(json)) // approximately as long
	start, before, read := len(w.out), w.common, w.check
	if w.event(e) {
		w.check.text, w.check.at = string(w.out[start:]), 0
		got, ok := w.check.event()
		if w.check.text = ""; ok && reflect.DeepEqual(got, e) {
			return nil
		}
	}
	w.out, w.common, w.check = w.out[:start], before, read
	w.out = append(w.out, formJSON)
	w.uint(uint64(len(json)))
	w.out = append(w.out, json...)
	w.seq = e.Seq
	w.check.seq = e.Seq
	return nil
}

// event appends the event in a short form, if it has one.
func (w *compactWriter) event(e event.Event) bool {
	form := formOf(e)
	if form == formJSON || e.V != event.Version || e.Volatile {
		return false
	}
	w.out = append(w.out, form)
	w.uint(e.Seq - w.seq)
	at := e.At.UnixNano()
	w.out = binary.AppendVarint(w.out, at-w.at)
	w.seq, w.at = e.Seq, at
	w.same(&w.session, e.Session)
	w.same(&w.turn, e.Turn)
	w.same(&w.attempt, e.Attempt)
	w.same(&w.item, e.Item)
	w.same(&w.by, e.By)
	switch d := e.Data.(type) {
	case event.ItemStarted:
		w.same(&w.itemType, string(d.Type))
		w.text(d.ProviderID)
		w.text(d.CallID)
		w.same(&w.tool, d.Name)
	case event.ItemEnded:
		w.itemEnded(d)
	case event.CallReady:
		w.same(&w.tool, d.Name)
		w.text(d.CallID)
	case event.CallStarted:
		w.text(d.Title)
	case event.AttemptStarted:
		w.uint(uint64(d.Step))
		w.uint(uint64(d.N))
		w.same(&w.provider, d.Provider)
		w.same(&w.model, d.Model)
		w.uint(uint64(d.MaxTokens))
		w.uint(uint64(d.Trimmed))
		w.same(&w.basis, d.Basis)
	case event.AttemptEnded:
		w.text(string(d.Outcome))
		w.same(&w.stop, d.StopReason)
		w.text(d.ResponseID)
		for _, n := range []int64{d.Usage.Input, d.Usage.CacheRead, d.Usage.CacheWrite, d.Usage.Output, d.Usage.Reasoning} {
			w.uint(uint64(n))
		}
	}
	return true
}

func (w *compactWriter) itemEnded(d event.ItemEnded) {
	w.text(string(d.Status))
	w.same(&w.itemType, string(d.Type))
	w.text(d.Text)
	w.same(&w.provider, d.Provider)
	w.same(&w.model, d.Model)
	w.text(d.ProviderID)
	if d.Signature == nil {
		w.uint(0)
	} else {
		w.uint(1)
		w.text(d.Signature.Format)
		w.text(d.Signature.Data)
	}
	w.text(d.CallID)
	w.same(&w.tool, d.Name)
	w.text(d.Arguments)
	w.text(d.Output)
	w.text(d.OutputFile)
	w.uint(uint64(d.OutputBytes))
	if d.ExitCode == nil {
		w.uint(0)
	} else {
		w.uint(1)
		w.out = binary.AppendVarint(w.out, int64(*d.ExitCode))
	}
}

// formOf returns the short form for the usual fields of the event's kind.
func formOf(e event.Event) byte {
	switch e.Data.(type) {
	case event.ItemStarted:
		return formItemStarted
	case event.ItemEnded:
		return formItemEnded
	case event.CallReady:
		return formCallReady
	case event.CallStarted:
		return formCallStarted
	case event.AttemptStarted:
		return formAttemptStarted
	case event.AttemptEnded:
		return formAttemptEnded
	}
	return formJSON
}

func (w *compactWriter) uint(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *compactWriter) text(s string) {
	w.uint(uint64(len(s)))
	w.out = append(w.out, s...)
}

// same appends only a mark if the text equals the previous one.
func (w *compactWriter) same(last *string, s string) {
	if *last == s {
		w.uint(0)
		return
	}
	*last = s
	w.uint(uint64(len(s)) + 1)
	w.out = append(w.out, s...)
}

// compactReader reads the output of a compactWriter. The strings of the events share its text.
type compactReader struct {
	common
	text    string
	at      int
	failed  bool
	decoder event.Decoder
}

// event reads the next event.
func (r *compactReader) event() (e event.Event, ok bool) {
	if r.at >= len(r.text) {
		return e, false
	}
	form := r.text[r.at]
	r.at++
	if form == formJSON {
		e, err := r.decoder.Decode([]byte(r.string()))
		r.seq = e.Seq
		return e, err == nil && !r.failed
	}
	e.V = event.Version
	r.seq += r.uint()
	r.common.at += r.int()
	e.Seq, e.At = r.seq, time.Unix(0, r.common.at).UTC()
	e.Session, e.Turn, e.Attempt = r.same(&r.session), r.same(&r.turn), r.same(&r.attempt)
	e.Item, e.By = r.same(&r.item), r.same(&r.by)
	e.Data = r.data(form)
	return e, e.Data != nil && !r.failed
}

func (r *compactReader) data(form byte) event.Data {
	switch form {
	case formItemStarted:
		return event.ItemStarted{Type: r.itemKind(), ProviderID: r.string(), CallID: r.string(), Name: r.same(&r.tool)}
	case formItemEnded:
		return r.itemEnded()
	case formCallReady:
		return event.CallReady{Name: r.same(&r.tool), CallID: r.string()}
	case formCallStarted:
		return event.CallStarted{Title: r.string()}
	case formAttemptStarted:
		return event.AttemptStarted{
			Step: int(r.uint()), N: int(r.uint()), Provider: r.same(&r.provider), Model: r.same(&r.model),
			MaxTokens: int(r.uint()), Trimmed: int(r.uint()), Basis: r.same(&r.basis),
		}
	case formAttemptEnded:
		return event.AttemptEnded{
			Outcome: event.Outcome(r.string()), StopReason: r.same(&r.stop), ResponseID: r.string(),
			Usage: event.Usage{
				Input: int64(r.uint()), CacheRead: int64(r.uint()), CacheWrite: int64(r.uint()),
				Output: int64(r.uint()), Reasoning: int64(r.uint()),
			},
		}
	}
	return nil
}

func (r *compactReader) itemEnded() event.Data {
	d := event.ItemEnded{Status: event.Status(r.string())}
	d.Type, d.Text = r.itemKind(), r.string()
	d.Provider, d.Model = r.same(&r.provider), r.same(&r.model)
	d.ProviderID = r.string()
	if r.uint() == 1 {
		d.Signature = &event.ProviderSignature{Format: r.string(), Data: r.string()}
	}
	d.CallID, d.Name = r.string(), r.same(&r.tool)
	d.Arguments, d.Output, d.OutputFile = r.string(), r.string(), r.string()
	d.OutputBytes = int64(r.uint())
	if r.uint() == 1 {
		code := int(r.int())
		d.ExitCode = &code
	}
	return d
}

func (r *compactReader) itemKind() event.ItemType { return event.ItemType(r.same(&r.itemType)) }

func (r *compactReader) uint() (n uint64) {
	for shift := 0; shift < 64 && r.at < len(r.text); shift += 7 {
		b := r.text[r.at]
		r.at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.failed = true
	return 0
}

func (r *compactReader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *compactReader) string() string { return r.take(r.uint()) }

func (r *compactReader) take(n uint64) string {
	if r.failed || n > uint64(len(r.text)-r.at) {
		r.failed = true
		return ""
	}
	s := r.text[r.at : r.at+int(n)]
	r.at += int(n)
	return s
}

func (r *compactReader) same(last *string) string {
	if n := r.uint(); n > 0 {
		*last = r.take(n - 1)
	}
	return *last
}
