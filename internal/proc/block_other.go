//go:build !linux

package proc

// FindBlock finds nothing here.
func FindBlock() (Block, error) { return Block{}, nil }

// Seclude does nothing here.
func Seclude() error { return nil }
