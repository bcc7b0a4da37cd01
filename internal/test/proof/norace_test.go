//go:build !race

package proof

// raced reports that the race detector makes everything ten times slower.
const raced = false
