package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// Dialect is a wire format.
type Dialect string

// The dialects.
const (
	Responses Dialect = "responses"
	Messages  Dialect = "messages"
	Chat      Dialect = "chat"
	Gemini    Dialect = "gemini"
)

// frame is one event of a stream, with its position for faults.
type frame struct {
	event string // name for the event: line; "" for none
	data  []byte
	raw   []byte // if set, sent instead of event and data, as it is
	start bool   // an item begins
	delta bool   // text, reasoning or arguments
	half  int    // the arguments of this call, from 1, are half sent
	call  int    // this call, from 1, is complete
	items bool   // the next frame belongs to no item any more
	end   bool   // this frame ends the response
	burst bool   // need not leave at once: many more follow
}

// rendering is one response about to be sent.
type rendering struct {
	Response
	n       int // number of the request; ids are made of it
	at      time.Time
	model   string
	dialect Dialect
	account account
	// provider names the provider whose ids, reasoning and signatures the response has; "" for
	// OpenAI.
	provider string
	// Options of the request.
	usageWanted                  bool            // stream_options.include_usage
	tokensWanted, logprobsWanted bool            // return_token_ids (vLLM) and logprobs
	signatureWanted              bool            // include: reasoning.encrypted_content
	custom                       map[string]bool // names of custom tools
	deferred                     map[string]*deferredTool
	searches                     map[int]string // searchCall or searchOutput of the items of searches, by index
	quirks                       map[FaultKind]bool
	calls                        int // calls rendered so far
	sequence                     int // events rendered so far
}

func (r *rendering) frames() iter.Seq[frame] {
	if r.Stream != nil {
		return r.recorded
	}
	switch r.dialect {
	case Messages:
		return r.messages
	case Chat:
		return r.chat
	case Gemini:
		return r.gemini
	}
	return r.responses
}

// object is a JSON object.
type object map[string]any

// encode returns v as JSON; v must have only values that can be encoded.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("modeltest: cannot encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// id is an id that no other item of the server has.
func (r *rendering) id(prefix string, item int) string {
	return fmt.Sprintf("%s%06d%02d%024x", prefix, r.n, item, r.n*100+item)
}

// callID is the id of the call that item number i makes.
func (r *rendering) callID(i int) string {
	prefix := "call_"
	if r.dialect == Messages {
		prefix = "toolu_"
	}
	it := r.Items[i]
	switch {
	case r.quirks[FaultEmptyIDs]:
		return ""
	case r.quirks[FaultSameIDs]:
		return prefix + "same"
	case it.CallID != "":
		return it.CallID
	case r.dialect != Chat:
	case r.provider == "mistral":
		return fmt.Sprintf("m%06d%02d", r.n%1_000_000, i%100)
	case r.provider == "moonshot":
		return fmt.Sprintf("functions.%s:%d", it.Call, r.n*100+i)
	}
	return fmt.Sprintf("%s%06d%02d", prefix, r.n, i)
}

// index is the index that item number i of n claims.
func (r *rendering) index(i, n int) int {
	switch {
	case r.quirks[FaultSameIndex]:
		return 0
	case r.quirks[FaultReverseIndex]:
		return n - 1 - i
	}
	return i
}

// pieces are the deltas of a call's arguments, and the number of the one after
// which they are half sent.
func (r *rendering) pieces(it Item, s string) (chunks []string, half int) {
	chunks = it.chunks(s)
	if len(chunks) == 1 && len(s) > 1 {
		chunks = []string{s[:len(s)/2], s[len(s)/2:]}
	}
	return chunks, (len(chunks) - 1) / 2
}

// burst reports whether the item's deltas are sent at full speed.
func (r *rendering) burst(it Item) bool { return it.Times > 0 && r.Pace == 0 }
