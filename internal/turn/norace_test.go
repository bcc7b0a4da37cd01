//go:build !race

package turn_test

// raced says that the race detector makes everything ten times slower.
const raced = false
