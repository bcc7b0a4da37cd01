//go:build race

package proof

// raced says that the race detector makes everything ten times slower.
const raced = true
