//go:build !unix

package disk

import "os"

func boot() string { return "0" }

// hold locks nothing: directories cannot be locked here.
func hold(string) (lock *os.File, ours bool, err error) { return nil, true, nil }

// Sweep removes nothing: it cannot be told whose directory is in use.
func SweepScratch() (removed int) { return 0 }
