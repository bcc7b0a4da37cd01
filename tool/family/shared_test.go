package family_test

import (
	"context"
	"testing"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/family"
)

// Sessions have tools of their own, with equal schemas.
func TestViewsShareEqualSchemas(t *testing.T) {
	for _, f := range family.All() {
		first := family.New(f, family.Every, all(t)).Specs()
		second := family.New(f, family.Every, all(t)).Specs()
		for n := range first {
			if &first[n].Schema[0] != &second[n].Schema[0] {
				t.Errorf("%s: two sessions have a schema of %q each", f, first[n].Name)
			}
		}
	}
}

// Another schema of a tool with the same name is another text.
func TestViewsDistinguishSchemas(t *testing.T) {
	specs := func(property string) []tool.Spec {
		run := func(context.Context, struct{}) (string, error) { return "", nil }
		one, err := tool.New("one", "One.", run, tool.WithSchema(
			`{"type":"object","properties":{"`+property+`":{"type":"string"}},"additionalProperties":false}`,
		))
		if err != nil {
			t.Fatal(err)
		}
		set, err := tool.NewSet(one)
		if err != nil {
			t.Fatal(err)
		}
		return family.New(family.GPT, family.Suitable, set).Specs()
	}
	if a, b := string(specs("a")[0].Schema), string(specs("b")[0].Schema); a == b || len(a) == 0 {
		t.Errorf("schemas %s and %s", a, b)
	}
}
