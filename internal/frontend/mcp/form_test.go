package mcp

import (
	"strings"
	"testing"
)

// The form about a call that can be allowed only once has no answer for the session.
func TestDecisionForm(t *testing.T) {
	const values, names = `"enum":["allow","deny","explain","stop"]`,
		`"enumNames":["Allow once","Deny","Deny for now, explain the effects","Stop the turn"]`
	once, other := string(decisionForm(true)), string(decisionForm(false))
	if !strings.Contains(once, values) || !strings.Contains(once, names) {
		t.Errorf("once: %s", once)
	}
	if !strings.Contains(other, `["allow","allow_session",`) || !strings.Contains(other, `"Allow for the session"`) {
		t.Errorf("else: %s", other)
	}
}
