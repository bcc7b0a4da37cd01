// Package terminal draws on a terminal and reads its keys. It knows nothing about agents.
// Start with screen.go.
//
//	keys ◄─ Input ◄─┐
//	                tty (Device: raw mode, size, restored on every exit)
//	Lines ─► Screen ┘
//
// A Screen is append-only. Committed lines become ordinary rows of the terminal's
// scrollback and are never changed. Below them is a live region, always shorter than the
// screen; each frame redraws its changed rows. The screen uses no scroll region, no
// alternate screen (except for a Pager), and no sequence that erases scrollback. The
// scrollback therefore has all committed rows, in order.
//
// A resize moves the drawn rows, because most terminals reflow long rows. Screen knows how
// (Reflow), finds the top of its live region, and redraws only that.
//
// The package also makes untrusted text safe to print (printable.go), and formats counts
// and durations (count.go, duration.go) for packages that draw nothing.
//
// Other files:
//
//   - device.go: raw mode, size, restore
//   - await_unix.go: waits for bytes
//   - input.go: bytes as keys and pastes
//   - fold.go: breaks help and lists at the terminal's width
//   - flow.go: breaks text between words while it arrives
//   - theme.go: tables of colors
//   - style.go: colors and attributes
//   - link.go: links on web addresses
//   - shell.go: words of a shell's command
//   - wrap.go: widths, line breaks
//   - tail.go: the last lines of an output
//   - notify.go: kinds of notifications of terminals
package terminal
