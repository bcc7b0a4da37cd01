package acp

import (
	"slices"
	"testing"
)

// A call that can be allowed only once has no option for the session.
func TestOptionsOfSingleCall(t *testing.T) {
	ids := func(options []object) (all []any) {
		for _, o := range options {
			all = append(all, o["optionId"])
		}
		return all
	}
	if got := ids(permissionOptions(true)); !slices.Equal(got, []any{allowOnce, rejectOnce, explainNow}) {
		t.Errorf("once: %v", got)
	}
	if got := ids(permissionOptions(false)); !slices.Equal(got, []any{allowOnce, allowAlways, rejectOnce, explainNow}) {
		t.Errorf("else: %v", got)
	}
}
