package proof

import (
	"strings"
	"testing"
)

// TestCompaction has turns that are compacted while they run, on each wire. They are too long to be
// cut at each event, as the turns of the catalogue are.
func TestCompaction(t *testing.T) {
	flood := func(n int) string { return strings.Repeat("model\n  call flood 6000\n", n) }
	for name, text := range map[string]string{
		"by a summary": "window 4000\ncompact auto\n" + flood(3) + `
model paced 1s
  say "## Goal: the first summary, in several deltas."
model
  say "Done."
input "go"
after 40s input "and on"
ends completed
ends completed`,
		"without a summary": "window 4000\ncompact auto\n" + flood(3) + `
model
  call flood 10
model paced 1s
  think "No summary comes of this."
model
  say "Done."
input "go"
ends completed`,
		"mechanically": "window 4000\ncompact mechanical\n" + flood(4) + `
model
  say "Done."
input "go"
ends completed`,
		"after an overflow": "holds 20000 of 1\ncompact auto\n" + flood(4) + `
model
  say "## Goal: the summary."
model
  say "Done."
input "go"
ends completed`,
		"full again at once": "window 4000\ncompact mechanical\n" + flood(8) + `
model
  say "Done."
input "go"
ends limit`,
	} {
		for _, wire := range Wires() {
			t.Run(name+"/"+string(wire), func(t *testing.T) {
				s, err := Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				s.Wire = wire
				if problems := play(t, s).Problems; len(problems) > 0 {
					t.Error(strings.Join(problems, "\n"))
				}
			})
		}
	}
}
