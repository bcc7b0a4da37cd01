package terminal_test

import (
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:              "0 s",
		0:                         "0 ms",
		12 * time.Millisecond:     "12 ms",
		340 * time.Millisecond:    "0.3 s",
		4 * time.Second:           "4 s",
		9900 * time.Millisecond:   "9.9 s",
		42 * time.Second:          "42 s",
		90 * time.Second:          "1m30s",
		time.Hour:                 "1h",
		10 * time.Minute:          "10m",
		time.Hour + 4*time.Minute: "1h4m",
	} {
		if got := terminal.Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
