package event

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const docPath = "../docs/reference/events.md"

// docSections returns the text under each heading, by heading.
func docSections(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^##+ `).Split(string(raw), -1)[1:] {
		heading, text, _ := strings.Cut(part, "\n")
		sections[strings.Trim(heading, "`")] = text
	}
	return sections
}

// field is the name of a field, and whether every event has it. The documentation and the type must
// agree on both.
type field struct {
	Name   string
	Always bool
}

// documented returns the rows of the section's table.
func documented(section string) []field {
	var out []field
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(section, -1) {
		out = append(out, field{m[1], strings.HasSuffix(m[2], ", always")})
	}
	return out
}

// declared returns the type's own fields, and the names of the structs that it
// embeds.
func declared(typ reflect.Type) (fields []field, embedded []string) {
	for n := range typ.NumField() {
		f := typ.Field(n)
		if f.Anonymous {
			embedded = append(embedded, f.Type.Name())
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field{name, options != "omitempty" && options != "omitzero"})
	}
	return fields, embedded
}

func TestDocDescribesEveryKind(t *testing.T) {
	sections := docSections(t)
	types := map[string]reflect.Type{
		"Summary": reflect.TypeFor[Summary](), "Usage": reflect.TypeFor[Usage](), "Content": reflect.TypeFor[Content](),
		"Cause": reflect.TypeFor[Cause](), "Error": reflect.TypeFor[Failure](), "Image": reflect.TypeFor[Image](),
		"Document": reflect.TypeFor[Document](), "Identity": reflect.TypeFor[Identity](),
		"Provider signature": reflect.TypeFor[ProviderSignature](), "Process": reflect.TypeFor[Process](),
		"Sent": reflect.TypeFor[Sent](), "Place": reflect.TypeFor[Place](), "Worktree": reflect.TypeFor[Worktree](),
		"Agent source": reflect.TypeFor[AgentSource](), "Worktree left": reflect.TypeFor[WorktreeLeft](),
		"Form": reflect.TypeFor[Form](), "Resolved path": reflect.TypeFor[ResolvedPath](), "Tokens": reflect.TypeFor[Tokens](),
		"Held verdict": reflect.TypeFor[HeldVerdict](), "Stream limits": reflect.TypeFor[StreamLimits](),
	}
	for _, k := range Kinds() {
		d, err := decodeData(k, nil)
		if err != nil {
			t.Fatal(err)
		}
		types[string(k)] = reflect.TypeOf(d)
	}
	for heading, typ := range types {
		fields, embedded := declared(typ)
		if diff := cmp.Diff(fields, documented(sections[heading])); diff != "" {
			t.Errorf("%s: the type and docs/reference/events.md differ (-type +doc):\n%s", heading, diff)
		}
		for _, name := range embedded {
			if !strings.Contains(sections[heading], "(#"+strings.ToLower(name)+")") {
				t.Errorf("%s: docs/reference/events.md does not say that it has the fields of %s", heading, name)
			}
		}
	}
	for heading := range sections {
		if _, ok := types[heading]; !ok && strings.Contains(heading, ".") {
			t.Errorf("docs/reference/events.md describes %q, which is no kind", heading)
		}
	}
	var names []string
	for _, f := range documented(sections["Envelope"]) {
		names = append(names, f.Name)
	}
	fields, _ := declared(reflect.TypeFor[envelope]())
	var want []string
	for _, f := range fields {
		want = append(want, f.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the envelope (-type +doc):\n%s", diff)
	}
}

func TestDocListsEveryValue(t *testing.T) {
	values := docSections(t)["Values"]
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (.*) \|$`).FindAllStringSubmatch(values, -1) {
		plain := regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(m[2], "")
		for _, v := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(plain, -1) {
			rows[m[1]] = append(rows[m[1]], v[1])
		}
	}
	want := map[string][]string{}
	for typ, consts := range parseSource(t).consts {
		if typ != "Kind" {
			for _, value := range consts {
				want[typ] = append(want[typ], value)
			}
		}
	}
	for _, lists := range []map[string][]string{rows, want} {
		for _, list := range lists {
			slices.Sort(list)
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("the constants and docs/reference/events.md differ (-source +doc):\n%s", diff)
	}
}

// TestDocExample: the example is a session that Fold accepts, to the byte as settle writes it, and
// its turn ends with the events of Endings.
func TestDocExample(t *testing.T) {
	_, block, ok := strings.Cut(docSections(t)["Example"], "```jsonl\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !ok || !closed {
		t.Fatal("docs/reference/events.md has no example")
	}
	var state State
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if _, unknown := e.Data.(Unknown); unknown {
			t.Errorf("event %d is of the unknown kind %q", e.Seq, e.Kind())
		}
		again, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(line, string(again)); diff != "" {
			t.Errorf("event %d is not as settle writes it (-doc +settle):\n%s", e.Seq, diff)
		}
		if e.Terminal() {
			cause := Abort(Interrupted, e.By)
			want := Endings(state, cause)
			if diff := cmp.Diff(want[len(want)-1].Data, e.Data); diff != "" {
				t.Errorf("the turn's end (-Endings +doc):\n%s", diff)
			}
		}
		if state, err = Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	if state.Open || state.Running() != nil || len(state.Turns) != 1 {
		t.Errorf("the example ends in %+v", state)
	}
}
