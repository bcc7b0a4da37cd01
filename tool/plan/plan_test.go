package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/plan"
)

func TestPlan(t *testing.T) {
	many, err := json.Marshal(plan.Arguments{Plan: slices.Repeat([]plan.Step{{Step: "a", Status: plan.Pending}}, 101)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(plan.New())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ arguments, title, want string }{
		"none": {`{"plan":[]}`, "plan, 0 of 0 done", ""},
		"one":  {`{"explanation":"why","plan":[{"step":"Read it.","status":"completed"},{"step":"Write it.","status":"in_progress"}]}`, "plan, 1 of 2 done: Write it.", ""},
		"two at once": {
			`{"plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"in_progress"}]}`, "",
			"at most one",
		},
		"an empty step": {`{"plan":[{"step":" ","status":"pending"}]}`, "", "step 1 says nothing"},
		"a long step": {
			`{"plan":[{"step":"` + strings.Repeat("x", 1001) + `","status":"pending"}]}`, "",
			"one sentence",
		},
		"too many steps": {string(many), "", "at most 100"},
		"another state":  {`{"plan":[{"step":"a","status":"done"}]}`, "", "status"},
		"no plan":        {`{}`, "", "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			one, _ := set.Lookup(plan.Name)
			err := set.Check(plan.Name, json.RawMessage(tt.arguments))
			if err == nil {
				_, err = one.Run(t.Context(), tool.Call{Args: json.RawMessage(tt.arguments)})
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v", err)
			}
			if title := one.(tool.Titler).Title(json.RawMessage(tt.arguments)); tt.title != "" && title != tt.title {
				t.Errorf("title %q", title)
			}
		})
	}
}
