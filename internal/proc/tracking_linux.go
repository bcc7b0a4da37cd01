package proc

import (
	"errors"
	"os"

	"github.com/settle-agent/settle/internal/sandbox"
)

// Tracking describes the process tracking of this system.
func Tracking() TrackingInfo {
	if canSupervise() {
		return TrackingInfo{Kind: Supervisor}
	}
	c := TrackingInfo{Kind: Groups, Weaker: []string{
		"processes are not ended if this program is killed with SIGKILL",
		"processes cannot be released",
	}}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		c.Weaker = append(
			c.Weaker, "there is no /proc: processes that leave their process group (setsid) are not found",
		)
	} else {
		c.Weaker = append(
			c.Weaker, "processes that leave their process group and clear their environment are not found",
		)
	}
	return c
}

func confines() error {
	if !canSupervise() {
		return errors.New("this program has no supervisors, which start confined commands")
	}
	return sandbox.Check()
}
