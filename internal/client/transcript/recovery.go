package transcript

import (
	"fmt"

	"github.com/settle-agent/settle/event"
)

// RecoveryText says what opening the session found.
func RecoveryText(d event.SessionRecovered) string {
	words := "the process that last used this session was killed"
	if d.PID == 0 {
		words = "the session's log was damaged"
	}
	if d.Ended > 0 {
		words += fmt.Sprintf("; %d items were still open and have been ended", d.Ended)
	}
	if len(d.Swept) > 0 {
		words += fmt.Sprintf("; processes %v were still running and have been ended", d.Swept)
	}
	if d.Kept != "" {
		words += fmt.Sprintf("; the damaged end of its log (%d bytes) was saved to %s", d.CutBytes, d.Kept)
	}
	return words
}
