package file

import (
	"fmt"
	"strings"
)

const (
	diffContext = 3
	// maxDiffEdits bounds the search for a shortest diff; two texts with more differences
	// are shown as one replacement.
	maxDiffEdits = 400
)

// change is a run of lines that differ: b[fromB:toB] replaced a[fromA:toA].
type change struct{ fromA, toA, fromB, toB int }

// diffLines returns the differences between a and b, in order.
func diffLines(a, b []line) []change {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	if start == endA && start == endB {
		return nil
	}
	middle, ok := shortestEdits(a[start:endA], b[start:endB])
	if !ok {
		return []change{{start, endA, start, endB}}
	}
	for i := range middle {
		middle[i].fromA += start
		middle[i].toA += start
		middle[i].fromB += start
		middle[i].toB += start
	}
	return middle
}

// shortestEdits is the greedy algorithm of Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986). It stops beyond maxDiffEdits.
func shortestEdits(a, b []line) ([]change, bool) {
	limit := min(len(a)+len(b), maxDiffEdits)
	reach := make([]int, 2*limit+2) // furthest x on diagonal k, at index k+limit
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach...))
		for k := -d; k <= d; k += 2 {
			x := nextX(reach, limit, k, d)
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			reach[k+limit] = x
			if k == len(a)-len(b) && x >= len(a) {
				return walkBack(trace, limit, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// nextX returns where a path of d edits enters diagonal k: down from k+1, or right from
// k-1.
func nextX(reach []int, limit, k, d int) int {
	if k == -d || k != d && reach[k-1+limit] < reach[k+1+limit] {
		return reach[k+1+limit]
	}
	return reach[k-1+limit] + 1
}

// walkBack converts the trace to changes, and merges adjacent ones.
func walkBack(trace [][]int, limit, x, y int) []change {
	var edits []change // single lines, last first
	for d := len(trace) - 1; d > 0; d-- {
		reach, k := trace[d], x-y
		right := k != -d && (k == d || reach[k-1+limit] >= reach[k+1+limit])
		if right {
			k--
		} else {
			k++
		}
		x = reach[k+limit]
		y = x - k
		if right {
			edits = append(edits, change{x, x + 1, y, y})
		} else {
			edits = append(edits, change{x, x, y, y + 1})
		}
	}
	var changes []change
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if n := len(changes); n > 0 && changes[n-1].toA == e.fromA && changes[n-1].toB == e.fromB {
			changes[n-1].toA, changes[n-1].toB = e.toA, e.toB
			continue
		}
		changes = append(changes, e)
	}
	return changes
}

// unified writes changes as the hunks of a unified diff.
func unified(a, b []line, changes []change) string {
	var out strings.Builder
	for i := 0; i < len(changes); {
		j := i + 1 // changes i to j-1 are close enough for one hunk
		for j < len(changes) && changes[j].fromA-changes[j-1].toA <= 2*diffContext {
			j++
		}
		writeHunk(&out, a, b, changes[i:j])
		i = j
	}
	return out.String()
}

func writeHunk(out *strings.Builder, a, b []line, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(diffContext, first.fromA)
	tail := min(diffContext, len(a)-last.toA)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", hunkRange(first.fromA-lead, last.toA+tail),
		hunkRange(first.fromB-lead, last.toB+tail))
	at := first.fromA - lead
	for _, c := range changes {
		writeLines(out, ' ', a[at:c.fromA])
		writeLines(out, '-', a[c.fromA:c.toA])
		writeLines(out, '+', b[c.fromB:c.toB])
		at = c.toA
	}
	writeLines(out, ' ', a[at:last.toA+tail])
}

// hunkRange writes lines from:to in the notation of a unified diff.
func hunkRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []line) {
	for _, l := range lines {
		out.WriteByte(mark)
		out.WriteString(l.String())
		if l.end == "" {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
