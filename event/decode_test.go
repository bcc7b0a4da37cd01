package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuickDecode: the hand-written decoder reads settle's own form of every kind of event.
func TestQuickDecode(t *testing.T) {
	slow := map[Kind]bool{}
	for _, e := range samples() {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := new(Decoder).quick(line); !ok {
			slow[e.Kind()] = true
		}
		sameDecoded(t, new(Decoder), line)
	}
	for _, k := range Kinds() {
		if slow[k] {
			t.Errorf("a %s event is not read by hand", k)
		}
	}
}

// TestDecoderForgets: an event does not inherit the fields of the event before it.
func TestDecoderForgets(t *testing.T) {
	d := new(Decoder)
	for _, e := range append(samples(), samples()...) {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		sameDecoded(t, d, line)
	}
}

// FuzzDecode: the hand-written decoder returns the same event as encoding/json.
func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		line, err := e.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	const begin = `{"v":1,"session":"s","seq":1,"at":"2026-01-02T03:04:05Z","kind":`
	for _, rest := range []string{
		`"item.delta","data":{"stream":"text","text":"a\u0041\ud83d\ude00\n\"\\\/\b\f\r\t\x"}}`,
		`"item.delta","data":{"stream":"text","text":"a"},"kind":"call.started"}`,
		`"item.ended","data":{"status":"completed","type":"tool_call","exit_code":-0,"jobs":["a]"],"survivors":[{"pid":1}]}}`,
		`"item.ended","data":{"status":"completed","type":"message","detail":[1,{"a":"\"}"}]}}`,
		`"item.started","data":{"type":"message","name":"` + "\xff" + `"}}`,
		`"attempt.ended","data":{"outcome":"failed","usage":{},"cost_usd":0.5e-3}}`,
		`"attempt.ended","data":{"outcome":"failed","usage":{},"cost_usd":01}}`,
		`"attempt.ended","data":{"outcome":"failed","usage":{},"cost_usd":}}`,
		`"attempt.ended","data":{"outcome":"failed","usage":{"input_tokens":01},"retry_in_ms":1}}`,
	} {
		f.Add([]byte(begin + rest))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameDecoded(t, new(Decoder), line) })
}

func sameDecoded(t *testing.T, d *Decoder, line []byte) {
	t.Helper()
	got, ok := d.quick(line)
	if !ok {
		return
	}
	want, err := decodeAny(line)
	if err != nil {
		t.Fatalf("%s: read by hand; encoding/json says %v", line, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-encoding/json +by hand):\n%s", line, diff)
	}
}
