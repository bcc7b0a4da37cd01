//go:build !race

package tui

// raced says that the race detector makes everything ten times slower.
const raced = false
