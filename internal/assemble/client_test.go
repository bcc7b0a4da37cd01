package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/tool"
)

// suspicious requires an approval for everything that the policy allows.
func suspicious(_ settle.Approval, j settle.Judgement) settle.Judgement {
	if j.Decision == settle.Allow {
		j.Decision, j.Rule = settle.Ask, "suspicious"
	}
	return j
}

func TestClientsChooseToolsAndJudges(t *testing.T) {
	r := resolve(t, t.TempDir(), map[string]string{"model": "chat/x", "base_url": "http://localhost:1/v1"}, nil, "")
	a := make1(t, r, func(o *Options) {
		o.Offers = func(tool string) bool { return tool == "read" || tool == "shell" }
		o.Reviewed = suspicious
	})
	kit, err := a.Session.Toolbox(settle.SessionInfo{ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range kit.Tools {
		names = append(names, tool.Spec().Name)
	}
	if diff := cmp.Diff([]string{"shell", "read"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	j, err := a.Session.Judge()
	if err != nil {
		t.Fatal(err)
	}
	call := settle.Approval{Tool: tool.Spec{Name: "shell"}, Arguments: `{"command":"ls"}`}
	if got := j.Judge(call); got.Rule != "suspicious" {
		t.Errorf("judged by %q, want the client's judge", got.Rule)
	}
	if err := kit.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
