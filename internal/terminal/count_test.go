package terminal_test

import (
	"testing"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0 calls", 1: "1 call", 2: "2 calls"} {
		if got := terminal.Count(n, "call"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 12_345: "12.3k", 1_200_000: "1.2M"} {
		if got := terminal.Tokens(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestDollars(t *testing.T) {
	for usd, want := range map[float64]string{
		0: "$0.0000", 0.00124: "$0.0012", 0.5: "$0.50", 9.999: "$10.00", 123.4: "$123",
	} {
		if got := terminal.Dollars(usd); got != want {
			t.Errorf("%v: %s, want %s", usd, got, want)
		}
	}
}
