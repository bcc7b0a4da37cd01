package claude

import "testing"

// A command that can be allowed only once comes without a rule that would allow it again.
func TestSuggestionsOfSingleCall(t *testing.T) {
	c := toolCall{alias: alias{claude: "Bash", settle: "shell"}, input: map[string]any{"command": "make"}}
	if got := (&driver{}).suggestions(c, true); got == nil || len(got) != 0 {
		t.Errorf("once: %v", got)
	}
	if got := (&driver{}).suggestions(c, false); len(got) != 1 {
		t.Errorf("else: %v", got)
	}
}
