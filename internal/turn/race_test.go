//go:build race

package turn_test

// raced reports whether the race detector slows the tests down.
const raced = true
