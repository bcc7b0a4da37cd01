package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownKindsAreCarried(t *testing.T) {
	for _, data := range []string{
		`{"b":1,"a":[ 1.50 , 1e3 ],"text":"<&> é \u00e9"}`, `"just text"`, `null`, `12345678901234567890`,
	} {
		line := `{"v":1,"session":"s1","seq":9,"at":"2026-03-04T05:06:07Z","turn":"t000001","kind":"moon.phase","data":` + data + `}`
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind() != "moon.phase" {
			t.Errorf("kind %q", e.Kind())
		}
		got, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(line, string(got)); diff != "" {
			t.Errorf("not carried byte for byte (-want +got):\n%s", diff)
		}
	}
}

// JSON from others, such as a client's schema or a tool's detail, can have characters that Node's
// readline takes for the end of a line.
func TestSeparatorsOfLinesAreEscaped(t *testing.T) {
	raw := json.RawMessage("{\"a\":\"x\u2028y\u2029\"}")
	for _, d := range []Data{
		InputAccepted{Input: "n000001", Text: "\u2028", Mode: Queue, Schema: raw},
		ItemEnded{Content: Content{Type: ToolCall, Detail: raw}},
		Unknown{Name: "moon.phase", Raw: raw},
		Unknown{Name: "moon.phase", Raw: append([]byte("\n"), raw...)},
	} {
		line, err := Event{V: 1, Data: d}.AppendJSON(nil)
		if err != nil || bytes.ContainsAny(line, "\u2028\u2029\n") ||
			!bytes.Contains(line, []byte(`{"a":"x\u2028y\u2029"}`)) {
			t.Errorf("%T: %s, %v", d, line, err)
		}
	}
}

func TestUnknownDataStaysOnOneLine(t *testing.T) {
	e := Event{V: 1, Data: Unknown{Name: "moon.phase", Raw: json.RawMessage("{\r\n \"a\": 1\n}")}}
	got, err := e.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"data":{"a":1}}`; !strings.HasSuffix(string(got), want) {
		t.Errorf("got %s, want it to end in %s", got, want)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":           `{"v":1,`,
		"no version":        `{"session":"s1","seq":1,"kind":"input.dropped","data":{}}`,
		"no kind":           `{"v":1,"session":"s1","seq":1,"data":{}}`,
		"negative seq":      `{"v":1,"session":"s1","seq":-1,"kind":"input.dropped","data":{}}`,
		"wrong type within": `{"v":1,"session":"s1","seq":1,"kind":"input.dropped","data":{"input":7}}`,
		"data is a list":    `{"v":1,"session":"s1","seq":1,"kind":"input.dropped","data":[]}`,
		"no time":           `{"v":1,"session":"s1","seq":1,"at":"soon","kind":"input.dropped","data":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := Event{Session: "before"}
			if err := json.Unmarshal([]byte(line), &e); err == nil {
				t.Errorf("accepted as %+v", e)
			}
			if diff := cmp.Diff(Event{Session: "before"}, e); diff != "" {
				t.Errorf("a refused event changed its target:\n%s", diff)
			}
		})
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	for name, line := range map[string]string{
		"known kind":    `{"v":2,"session":"s1","seq":7,"kind":"input.dropped","data":{"input":"n000001"}}`,
		"unknown kind":  `{"v":2,"session":"s1","seq":7,"kind":"moon.phase","data":{}}`,
		"other shapes":  `{"v":2,"session":{"id":"s1"},"seq":"7","kind":3,"data":{}}`,
		"version later": `{"session":{"id":"s1"},"v":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			var e Event
			err := json.Unmarshal([]byte(line), &e)
			var newer *NewerVersionError
			if !errors.As(err, &newer) || newer.Version != 2 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTimesAreUTC(t *testing.T) {
	var e Event
	line := `{"v":1,"seq":1,"at":"2026-03-04T07:06:07.5+02:00","kind":"input.dropped","data":{"input":"n1"}}`
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 3, 4, 5, 6, 7, 500_000_000, time.UTC)
	if !e.At.Equal(want) || e.At.Location() != time.UTC {
		t.Errorf("got %v, want %v", e.At, want)
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	for name, data := range map[string]Data{
		"nothing":       nil,
		"no kind":       Unknown{Raw: json.RawMessage(`{}`)},
		"foreign data":  Unknown{Name: "moon.phase", Raw: json.RawMessage(`{"a":`)},
		"broken detail": ApprovalRequested{Detail: json.RawMessage(`{"a":`)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Event{Data: data}.AppendJSON([]byte("before"))
			if err == nil {
				t.Errorf("encoded as %s", got)
			}
			if string(got) != "before" {
				t.Errorf("left %q in the buffer", got)
			}
		})
	}
}

func TestInvalidUTF8(t *testing.T) {
	e := Event{V: 1, By: "a\xffb", Data: ItemDelta{Stream: "te\"xt\xc3", Text: "ok \xe2\x82 \xff\xfe é"}}
	line, err := e.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(line) {
		t.Errorf("%q is not UTF-8", line)
	}
	var got Event
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	want := ItemDelta{Stream: "te\"xt\ufffd", Text: "ok \ufffd\ufffd \ufffd\ufffd é"}
	if diff := cmp.Diff(want, got.Data); diff != "" || got.By != "a\ufffdb" {
		t.Errorf("by %q, data (-want +got):\n%s", got.By, diff)
	}
}

// FuzzAppendString: AppendString writes the same bytes as encoding/json.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\b\f\n\r\t\x1f\x7f\"\\/", "<&>", "\u2028\u2029\u2027", "\xff\xc3\xe2\x82", "é😀\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := AppendJSON(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("AppendString(%q) = %s, encoding/json says %s", s, got, want)
		}
	})
}

// FuzzAppendJSON: the hand-written encoder of the envelope and of deltas writes the same bytes as
// encoding/json.
func FuzzAppendJSON(f *testing.F) {
	f.Add("s1", uint64(7), uint32(1_700_000_000), "t000001", "a000001", "i000001", "user", false, "text", "hello")
	f.Add("", uint64(0), uint32(0), "", "", "", "", true, "\"", "\xff\u2028</script>")
	f.Fuzz(
		func(t *testing.T, session string, seq uint64, at uint32, turn, attempt, item, by string, volatile bool, stream, text string) {
			e := Event{
				V: 1, Session: session, Seq: seq >> 1, At: time.Unix(int64(at), int64(at%1000)).UTC(), Turn: turn,
				Attempt: attempt, Item: item, By: by, Volatile: volatile, Data: ItemDelta{Stream: Stream(stream), Text: text},
			}
			got, err := e.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := byReflection(t, e); !bytes.Equal(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		},
	)
}

// A long text is written by another function, with the same bytes.
func TestLongText(t *testing.T) {
	decoy := json.RawMessage(`{"text":"\\u0000"}`)
	for name, end := range map[string]ItemEnded{
		"plain":   {Status: ItemCompleted, Content: Content{Type: Message, Text: "word "}},
		"escapes": {Status: ItemCompleted, Content: Content{Type: Message, Text: "\"a\"\n\t\x00\x1b \u2028 \xff <&> é"}},
		"look-alike": {
			Status: ItemAborted, Cause: &Cause{Outcome: Aborted, By: `"text":"\u0000"`, Message: "\"text\":\"\x00\""},
			Content: Content{Type: Reasoning, Text: `"text":"\u0000"`, Model: `"text":"\u0000"`, Detail: decoy, Signature: &ProviderSignature{}},
		},
	} {
		end.Text = strings.Repeat(end.Text, longText)
		for _, data := range []Data{end, TurnCompleted{Answer: end.Text}} {
			e := Event{V: 1, Session: "s", Seq: 7, Item: "i", Data: data}
			got, err := e.AppendJSON([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if want := byReflection(t, e); string(got) != "before"+string(want) {
				t.Errorf("%s: got %.300q\nwant %.300q", name, got, want)
			}
		}
	}
}

func byReflection(t *testing.T, e Event) []byte {
	t.Helper()
	w := struct {
		V       int       `json:"v"`
		Session string    `json:"session,omitempty"`
		Seq     uint64    `json:"seq"`
		At      time.Time `json:"at"`
		Turn    string    `json:"turn,omitempty"`
		Attempt string    `json:"attempt,omitempty"`
		Item    string    `json:"item,omitempty"`
		By      string    `json:"by,omitempty"`
		Durable *bool     `json:"durable,omitempty"`
		Kind    Kind      `json:"kind"`
		Data    Data      `json:"data"`
	}{e.V, e.Session, e.Seq, e.At, e.Turn, e.Attempt, e.Item, e.By, nil, e.Kind(), e.Data}
	if e.Volatile {
		w.Durable = new(false)
	}
	out, err := AppendJSON(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzUnmarshal: a decoded event is encoded again as JSON that decodes to the same event.
func FuzzUnmarshal(f *testing.F) {
	for _, e := range samples() {
		line, err := e.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"v":1,"kind":"moon.phase"}`))
	f.Add([]byte(`{"v":1,"kind":"item.ended","data":{"detail": null, "seal":{}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Event
		if json.Unmarshal(line, &e) != nil {
			return
		}
		first, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatalf("decoded, but %v", err)
		}
		if bytes.ContainsAny(first, "\r\n") || !json.Valid(first) {
			t.Errorf("%q is not one line of JSON", first)
		}
		var again Event
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		second, err := again.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("first %s\nthen  %s", first, second)
		}
	})
}
