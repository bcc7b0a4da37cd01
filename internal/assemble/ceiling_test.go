package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
)

// A client can only tighten the user's configuration.
func TestTighten(t *testing.T) {
	rule := func(decision settle.Permission) config.Rule { return config.Rule{Tool: "edit", Decision: decision} }
	all := []config.Rule{rule("allow"), rule("ask"), rule("deny")}
	for _, c := range []struct {
		user, wish, want settle.Permission
		rules            []config.Rule
	}{
		{"", settle.Allow, settle.Allow, all},
		{"", settle.Deny, settle.Deny, all},
		{settle.Allow, settle.Allow, settle.Allow, all},
		{settle.Allow, settle.Ask, settle.Ask, all},
		{settle.Allow, settle.Deny, settle.Deny, all},
		{settle.Ask, settle.Allow, settle.Ask, all[1:]},
		{settle.Ask, settle.Ask, settle.Ask, all[1:]},
		{settle.Ask, settle.Deny, settle.Deny, all[1:]},
		{settle.Deny, settle.Allow, settle.Deny, all[2:]},
		{settle.Deny, settle.Ask, settle.Deny, all[2:]},
	} {
		got := Tighten(c.user, Mode{Permission: c.wish, Rules: all})
		if diff := cmp.Diff(Mode{Permission: c.want, Rules: c.rules}, got); diff != "" {
			t.Errorf("user %q, client %q (-want +got):\n%s", c.user, c.wish, diff)
		}
	}
	if len(all) != 3 || all[0].Decision != "allow" {
		t.Errorf("the wish was changed: %v", all)
	}
}
