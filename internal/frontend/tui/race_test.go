//go:build race

package tui

// raced reports that the race detector makes everything ten times slower.
const raced = true
