package proof

import (
	"strings"
	"testing"
	"time"
)

// repeated has calls that take so long that the clock jumps within each.
const repeated = `
limit repeats 3
model
  call print "same", take 1s
model
  call print "same", take 1s
model
  call print "same", take 1s
input "go"
ends limit`

// For any jumps of the clock that dates events, each turn of the catalogue ends as usual: nothing
// waits, ends or is ordered by that clock.
func TestClockJumps(t *testing.T) {
	const day = 24 * time.Hour
	list := turns(t)
	var err error
	if list["repeated"], err = Parse(repeated); err != nil {
		t.Fatal(err)
	}
	for name, s := range list {
		for jumps, by := range map[string][]time.Duration{
			"forward": {day}, "back": {-day}, "to and fro": {day, -day, -400 * day, 400 * day},
		} {
			t.Run(name+"/"+jumps, func(t *testing.T) {
				t.Parallel()
				c := s
				c.Moves = append([]Move{}, s.Moves...)
				for n := range 60 {
					c.Moves = append(c.Moves, Move{On: n + 2, Do: Clock, By: by[n%len(by)]})
				}
				if problems := play(t, c).Problems; len(problems) > 0 {
					t.Errorf("%s\n%s", strings.Join(problems, "\n"), c)
				}
			})
		}
	}
}
