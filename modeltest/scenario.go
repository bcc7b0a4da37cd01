package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Scenario is the behaviour of a [Server]: its strictness about requests, and its
// answers, turn by turn. The zero Scenario answers nothing. As JSON it is
// the format of scenario files; see docs/reference/scenarios.md and [ParseScenario].
type Scenario struct {
	// Rules determine which requests are refused.
	Rules Rules `json:"rules,omitzero"`
	// Turns are played in order: each valid request takes the next one.
	Turns []Turn `json:"turns,omitempty"`
	// Loop starts again with the first turn after the last.
	Loop bool `json:"loop,omitempty"`
	// Answer, if set, gives the turn for a request that the script has none
	// for. It is called by several goroutines at once. Without it such a
	// request gets a 400 that says so.
	Answer func(Request) Turn `json:"-"`
}

// Script is a Scenario of these turns, with the strict rules.
func Script(turns ...Turn) Scenario { return Scenario{Turns: turns} }

// Turn is one scripted response, with its faults.
type Turn struct {
	// When, if set, keeps the turn for the first request whose body contains
	// it; other requests pass the turn over. A substring of the JSON body as
	// it was sent, so choose plain words.
	When string `json:"when,omitempty"`
	// Recording, in a scenario file, is the path of a recorded response, relative
	// to the scenario's folder: see [Response].Stream and [Scenario.Load].
	Recording string `json:"recording,omitempty"`
	Response
	// Faults strike this response; see [Fault.First] for how often.
	Faults []Fault `json:"faults,omitempty"`
}

// With returns the turn with these faults as well.
func (t Turn) With(faults ...Fault) Turn {
	t.Faults = append(t.Faults[:len(t.Faults):len(t.Faults)], faults...)
	return t
}

// For returns the turn kept for the first request whose body contains words.
func (t Turn) For(words string) Turn {
	t.When = words
	return t
}

// Stop returns the turn with another stop reason.
func (t Turn) Stop(why StopReason) Turn {
	t.Response.Stop = why
	return t
}

// Using returns the turn with this usage.
func (t Turn) Using(u Usage) Turn {
	t.Usage = &u
	return t
}

// Paced returns the turn with a wait before each delta.
func (t Turn) Paced(every time.Duration) Turn {
	t.Pace = Duration(every)
	return t
}

// Response is a response of the model, the same for every dialect.
type Response struct {
	Items []Item `json:"items,omitempty"`
	// Usage is the reported usage; nil reports small numbers.
	Usage *Usage `json:"usage,omitempty"`
	// Stop is the reason why the model stopped; "" means [StopToolUse] if an item is a call, else
	// [StopEndTurn].
	Stop StopReason `json:"stop,omitempty"`
	// Pace is the wait before each delta; 0 sends them as fast as they are read.
	Pace Duration `json:"pace,omitempty"`
	// Stream, if set, replaces all other fields: it is the body of a response that a real server
	// streamed, event by event and byte for byte. Each event counts as a delta, the last one is the
	// end. A request in another dialect receives it too, and cannot read it.
	Stream []byte `json:"-"`
}

// StopReason is the reason why the model stopped, in the words of the Messages API.
type StopReason string

// The stop reasons, and their names in the other dialects.
const (
	StopEndTurn   StopReason = "end_turn"       // completed; stop
	StopToolUse   StopReason = "tool_use"       // completed; tool_calls
	StopMaxTokens StopReason = "max_tokens"     // incomplete: max_output_tokens; length
	StopSequence  StopReason = "stop_sequence"  // completed; stop
	StopRefusal   StopReason = "refusal"        // completed; stop
	StopPause     StopReason = "pause_turn"     // completed; stop
	StopFilter    StopReason = "content_filter" // incomplete: content_filter; Messages: refusal
)

// Usage counts tokens. Input includes CacheRead and CacheWrite, Output includes Reasoning; each
// dialect reports them its own way.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Item is one output item of the model. The first of Call, Reasoning, Refusal and Text that is not
// empty determines its type.
type Item struct {
	// Text is a message to the user.
	Text string `json:"say,omitempty"`
	// Reasoning is thought; the dialect's signature or encrypted content is
	// added, and checked when it comes back.
	Reasoning string `json:"think,omitempty"`
	// Redacted hides the reasoning: a redacted_thinking block, a reasoning
	// item without summary.
	Redacted bool `json:"redacted,omitempty"`
	// Refusal is a refusal of the model.
	Refusal string `json:"refuse,omitempty"`
	// Call is the name of the tool to call, with Arguments, which are sent unchanged even if they
	// are not JSON. If the request offers the tool as a custom tool, Input is sent instead, if set.
	Call      string    `json:"call,omitempty"`
	Arguments Arguments `json:"arguments,omitempty"`
	Input     string    `json:"input,omitempty"`
	// Finds are deferred tools that the provider's own search finds, so that the model can call
	// them. If the request has no such search, the item is left out.
	Finds []string `json:"find_tools,omitempty"`
	// CallID is the call's id; "" creates a unique one.
	CallID string `json:"call_id,omitempty"`
	// ChunkSize is the length of a delta in bytes (characters are kept
	// whole); 0 means 12.
	ChunkSize int `json:"chunk_size,omitempty"`
	// Times repeats Text or Reasoning, one delta each; 0 means once, cut by
	// ChunkSize.
	Times int `json:"times,omitempty"`
}

// Text is an item of text.
func Text(s string) Item { return Item{Text: s} }

// Think is an item of reasoning.
func Think(s string) Item { return Item{Reasoning: s} }

// Call is an item that calls a tool with arguments, a JSON object.
func Call(name, arguments string) Item { return Item{Call: name, Arguments: Arguments(arguments)} }

// Find is an item in which the provider's own search finds tools.
func Find(tools ...string) Item { return Item{Finds: tools} }

// Flood is an item of n deltas of text, sent as fast as they are read.
func Flood(n int) Item { return Item{Text: "word ", Times: n} }

// Reply is a turn that consists of these items.
func Reply(items ...Item) Turn { return Turn{Response: Response{Items: items}} }

// Say is a turn that only says s.
func Say(s string) Turn { return Reply(Text(s)) }

// Recorded is a turn that plays the body of a recorded response, a stream of
// server-sent events.
func Recorded(stream []byte) Turn { return Turn{Response: Response{Stream: stream}} }

// Fail is a turn that consists of faults, such as a refusal by status.
func Fail(faults ...Fault) Turn { return Turn{Faults: faults} }

// stop is the reason with its default filled in.
func (r Response) stop() StopReason {
	if r.Stop != "" {
		return r.Stop
	}
	for _, it := range r.Items {
		if it.Call != "" {
			return StopToolUse
		}
	}
	return StopEndTurn
}

func (r Response) usage() Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	var out int64
	for _, it := range r.Items {
		n := int64(len(it.Text)+len(it.Reasoning)+len(it.Refusal))*int64(max(it.Times, 1)) + int64(len(it.Arguments))
		out += n/4 + 1
	}
	return Usage{Input: 100, Output: out}
}

// chunks cuts s into deltas.
func (it Item) chunks(s string) []string {
	if it.Times > 0 {
		out := make([]string, it.Times)
		for i := range out {
			out[i] = s
		}
		return out
	}
	size := it.ChunkSize
	if size <= 0 {
		size = 12
	}
	var out []string
	start := 0
	for i := range s {
		if i-start >= size {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// joined returns all deltas of s as one string.
func (it Item) joined(s string) string { return strings.Repeat(s, max(it.Times, 1)) }

// Arguments are a call's arguments. In a scenario file they are a JSON value,
// or a string for arguments that are not valid JSON.
type Arguments string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Arguments) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, (*string)(a))
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		return fmt.Errorf("cannot read the arguments: %w", err)
	}
	*a = Arguments(buf.String())
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (a Arguments) MarshalJSON() ([]byte, error) {
	if strings.HasPrefix(string(a), `"`) || !json.Valid([]byte(a)) {
		return json.Marshal(string(a))
	}
	return []byte(a), nil
}

// Duration is a time.Duration that is written "1.5s" in JSON.
type Duration time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// arguments are the call's, with the default filled in.
func (it Item) arguments() string {
	if it.Arguments == "" {
		return "{}"
	}
	return string(it.Arguments)
}
