// Package terminal draws on a terminal and reads its keys. It knows nothing
// about agents.
//
//	keys ◄─ Input ◄─┐
//	                tty (Device: raw mode, size, restored on every way out)
//	Lines ─► Screen ┘
//
// A Screen is append-only. What is committed becomes ordinary rows of the
// terminal's scrollback and is never touched again. Below it is a live region,
// always shorter than the screen, which each frame draws anew where it changed.
// The screen uses no scroll region, no alternate screen (but for a Pager), and
// nothing that erases scrollback; so what a person scrolls back to is what was
// committed, row for row.
//
// A resize moves what was drawn: most terminals wrap long rows anew. Screen
// knows how (Reflow), finds the top of its live region, and draws only that.
//
// The package also makes untrusted text safe to print (printable.go), and words counts
// and durations for people (count.go, duration.go). Packages that draw nothing use these.
package terminal
