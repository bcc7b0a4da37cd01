package jsonscan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settle-agent/settle/model/internal/jsonscan"
)

// compare holds the walk over in against encoding/json.
func compare(t *testing.T, in []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	valid := json.Unmarshal(in, &want) == nil && want != nil
	got := map[string]json.RawMessage{}
	o := jsonscan.Members(in)
	for o.Next() {
		key, err := jsonscan.String([]byte(`"` + string(o.Key) + `"`))
		if err != nil {
			t.Fatalf("key %q: %v", o.Key, err)
		}
		got[key] = json.RawMessage(o.Value)
		var text string
		if jsonscan.IsString(o.Value) && json.Unmarshal(o.Value, &text) == nil {
			if s, err := jsonscan.String(o.Value); err != nil || s != text {
				t.Errorf("string %s is %q, want %q (error %v)", o.Value, s, text, err)
			}
		}
	}
	if (o.Err() == nil) != valid {
		t.Fatalf("%q: error %v, but encoding/json says valid: %v", in, o.Err(), valid)
	}
	if diff := cmp.Diff(want, got); valid && diff != "" {
		t.Errorf("%q (-encoding/json +jsonscan):\n%s", in, diff)
	}
}

var seeds = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":"b","c":[1,2,{"d":null}],"e":{"f":true,"g":false}}`, `{"a":"\ud83d\ude00\n\"\\\/\b\f\r\t"}`,
	`{"a":"\ud83d"}`, `{"a":"\ud83dx\ude00"}`, `{"a":-0.5e+10}`, `{"a":01}`, `{"a":1.}`, `{"a":"` + "\x01" + `"}`, `{"a":"` + "\xff\xfe" + `"}`,
	`{"a":1,}`, `{"a" 1}`, `{"a":}`, `{"a":1`, `{"a":"x`, `{"a":"\x"}`, `{"a":"\u12"}`, `[]`, `null`, `1`, ``, `{"a":1} x`, `{"a":tru}`, `{"a":[1 2]}`,
	`{"a":1,"a":2}`, `{"\u0061":1}`, `{"é":"ü€"}`, `{"a":[[[[]]]],"b":{"c":{"d":{}}}}`, `{"a":-}`, `{"a":1e}`,
}

func TestAgainstStandardLibrary(t *testing.T) {
	for _, in := range seeds {
		compare(t, []byte(in))
	}
}

// compareArray holds the walk over in against encoding/json.
func compareArray(t *testing.T, in []byte) {
	t.Helper()
	var want, got []json.RawMessage
	valid := json.Unmarshal(in, &want) == nil && want != nil
	a := jsonscan.Elements(in)
	for a.Next() {
		got = append(got, json.RawMessage(a.Value))
	}
	if (a.Err() == nil) != valid {
		t.Fatalf("%q: error %v, but encoding/json says valid: %v", in, a.Err(), valid)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); valid && diff != "" {
		t.Errorf("%q (-encoding/json +jsonscan):\n%s", in, diff)
	}
}

func TestArrayAgainstStandardLibrary(t *testing.T) {
	for _, in := range []string{`[]`, ` [ 1 , {"a":[2]},"x" , null ] `, `[1,]`, `[,1]`, `[1 2]`, `[1`, `{}`, ``, `[1]x`} {
		compareArray(t, []byte(in))
	}
}

func TestDepthIsBounded(t *testing.T) {
	o := jsonscan.Members([]byte(`{"a":` + strings.Repeat("[", 1_000_000)))
	if o.Next() || o.Err() == nil {
		t.Error("a million levels were accepted")
	}
}

func FuzzMembers(f *testing.F) {
	for _, in := range seeds {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 1000 {
			compare(t, in)
			compareArray(t, in)
		}
	})
}
