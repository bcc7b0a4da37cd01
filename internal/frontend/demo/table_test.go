package demo

import "testing"

func TestTabulateFitsTerminal(t *testing.T) {
	rows := [][3]string{{"what", "how it ended", "after"}, {"$ sleep 60", "interrupted; effects: partial", "0.70 s"}}
	wide := "what        how it ended                   after\n$ sleep 60  interrupted; effects: partial  0.70 s\n"
	for columns, want := range map[int]string{
		0: wide, 80: wide, 40: "$ sleep 60\n  interrupted; effects: partial after 0.70 s\n",
	} {
		if got := tabulate(rows, columns); got != want {
			t.Errorf("at %d columns: %q", columns, got)
		}
	}
}
