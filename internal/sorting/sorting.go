// Package sorting sorts slices of structs with code that all of them share.
//
// It owns no order, only the trade: slices.SortFunc is compiled anew for each type of
// struct, which costs the binary about 12 kB each time, and is worth it where a list is
// long and sorted often. Everything else is sorted here.
package sorting

import "sort"

// By sorts a list by a comparison as slices.SortFunc does.
func By[T any](list []T, compare func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// Stable sorts a list as slices.SortStableFunc does.
func Stable[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
