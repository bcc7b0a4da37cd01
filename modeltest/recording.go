package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Load reads the recordings that the turns of a scenario file name, from the
// scenario's folder.
func (sc *Scenario) Load(folder fs.FS) error {
	for i := range sc.Turns {
		t := &sc.Turns[i]
		if t.Recording == "" {
			continue
		}
		raw, err := fs.ReadFile(folder, t.Recording)
		if err != nil {
			return fmt.Errorf("cannot read the recording of turn %d: %w", i+1, err)
		}
		if len(events(raw)) == 0 {
			return fmt.Errorf("cannot play turn %d: %q is not a stream of server-sent events", i+1, t.Recording)
		}
		t.Stream = raw
	}
	return nil
}

// recorded renders the turn's recording.
func (r *rendering) recorded(yield func(frame) bool) {
	all := events(r.Stream)
	for i, raw := range all {
		if !yield(frame{raw: raw, delta: true, end: i == len(all)-1}) {
			return
		}
	}
}

// events cuts a stream into its events, each with the lines before it and the
// blank line after it. Unterminated data is an event also; lines after the last data
// belong to that event. Without data there are no events.
func events(stream []byte) [][]byte {
	var all [][]byte
	start, data := 0, false
	for at := 0; at < len(stream); {
		line := lineLength(stream[at:])
		text := bytes.TrimRight(stream[at:at+line], "\r\n")
		at += line
		data = data || bytes.HasPrefix(text, []byte("data"))
		if len(text) == 0 && data {
			all, start, data = append(all, stream[start:at]), at, false
		}
	}
	switch rest := stream[start:]; {
	case data:
		all = append(all, rest)
	case len(all) > 0:
		last := &all[len(all)-1]
		*last = slices.Concat(*last, rest)
	}
	return all
}

// lineLength is the length of the first line with its end: CR LF, LF or CR.
func lineLength(b []byte) int {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return len(b)
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return i + 2
	}
	return i + 1
}

// signatureFields are the fields with values that providers expect back in later requests.
var signatureFields = []string{"signature", "encrypted_content", "data", "thought_signature", "thoughtsignature", "id"}

// signatures returns the signatures and ids in a recorded stream.
func signatures(stream []byte) []string {
	found := map[string]bool{}
	signatures := map[int]string{} // by the index of the block: they come in pieces
	for _, event := range events(stream) {
		var body struct {
			Index int `json:"index"`
			Delta struct {
				Signature string `json:"signature"`
			} `json:"delta"`
		}
		raw := payload(event)
		if json.Unmarshal(raw, &body) == nil && body.Delta.Signature != "" {
			signatures[body.Index] += body.Delta.Signature
			found[signatures[body.Index]] = true
		}
		var value any
		if json.Unmarshal(raw, &value) == nil {
			collect(value, found)
		}
	}
	return slices.Collect(maps.Keys(found))
}

// payload is the data of an event.
func payload(event []byte) []byte {
	var data [][]byte
	for len(event) > 0 {
		n := lineLength(event)
		if value, ok := bytes.CutPrefix(bytes.TrimRight(event[:n], "\r\n"), []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		}
		event = event[n:]
	}
	return bytes.Join(data, []byte("\n"))
}

// collect finds the signature fields in a JSON value.
func collect(v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if text, ok := value.(string); ok && text != "" && slices.Contains(signatureFields, strings.ToLower(name)) {
				found[text] = true
			}
			collect(value, found)
		}
	case []any:
		for _, value := range v {
			collect(value, found)
		}
	}
}
