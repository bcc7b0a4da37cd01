package terminal

import (
	"fmt"
	"strings"
)

// Count writes a number of things: "1 call", "2 calls".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Dollars writes an amount: $0.0012, $0.35, $12.
func Dollars(usd float64) string {
	switch {
	case usd >= 10:
		return fmt.Sprintf("$%.0f", usd)
	case usd >= 0.1:
		return fmt.Sprintf("$%.2f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// Tokens writes a number of tokens: 950, 12.3k, 1.2M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Window writes the size of a model's window, which is a round number: 8192, 200k, 1.05M.
func Window(tokens int) string {
	switch {
	case tokens < 10_000:
		return fmt.Sprint(tokens)
	case tokens < 1_000_000:
		return fmt.Sprintf("%dk", (tokens+500)/1000)
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", float64(tokens)/1e6), "0"), ".0") + "M"
}
