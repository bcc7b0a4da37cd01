package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestGoldens holds the wire format: a change of a line is a change of the schema.
func TestGoldens(t *testing.T) {
	path := filepath.Join("testdata", "kinds.jsonl")
	var got bytes.Buffer
	for _, e := range samples() {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(line, '\n'))
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the wire format changed (-want +got); if that is meant, run with -update:\n%s", diff)
	}
	lines := bytes.Split(bytes.TrimSuffix(want, []byte("\n")), []byte("\n"))
	for n, line := range lines {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if diff := cmp.Diff(samples()[n], e); diff != "" {
			t.Errorf("line %d does not decode to what was encoded (-want +got):\n%s", n+1, diff)
		}
	}
}

// TestSamplesAreWhole: the goldens show every kind and every field, so that
// none can change its name unseen.
func TestSamplesAreWhole(t *testing.T) {
	set := map[string]bool{}
	kinds := map[Kind]reflect.Type{}
	for _, e := range samples() {
		kinds[e.Kind()] = reflect.TypeOf(e.Data)
		markSet(reflect.ValueOf(e), set)
	}
	for _, k := range Kinds() {
		if kinds[k] == nil {
			t.Errorf("no sample of %s", k)
			continue
		}
		checkSet(t, kinds[k], set)
	}
	checkSet(t, reflect.TypeFor[Event](), set)
}

// markSet notes each field, as "Type.Field", that is not zero within v.
func markSet(v reflect.Value, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			markSet(v.Elem(), set)
		}
	case reflect.Slice:
		for n := range v.Len() {
			markSet(v.Index(n), set)
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if field := v.FieldByIndex(f.Index); f.IsExported() && !field.IsZero() {
				set[v.Type().Name()+"."+f.Name] = true
				markSet(field, set)
			}
		}
	}
}

func checkSet(t *testing.T, typ reflect.Type, set map[string]bool) {
	t.Helper()
	for _, f := range reflect.VisibleFields(typ) {
		if f.IsExported() && !set[typ.Name()+"."+f.Name] {
			t.Errorf("no sample sets %s.%s", typ.Name(), f.Name)
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() {
			checkSet(t, inner, set)
		}
	}
}
