package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type entry struct{ key, at int }

func byKey(a, b entry) int { return a.key - b.key }

func TestSorting(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		var list []entry
		for at := range n {
			list = append(list, entry{draw.IntN(10), at})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		got := slices.Clone(list)
		Stable(got, byKey)
		if !slices.Equal(got, want) {
			t.Fatalf("Stable: %v, want %v", got, want)
		}
		draw.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
		By(list, func(a, b entry) int { return cmp.Or(byKey(a, b), a.at-b.at) })
		if !slices.Equal(list, want) {
			t.Fatalf("By: %v, want %v", list, want)
		}
	}
}
