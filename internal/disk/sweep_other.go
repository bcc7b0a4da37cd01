//go:build !unix

package disk

import "os"

func boot() string { return "0" }

// hold locks nothing: this system cannot lock directories.
func hold(string) (lock *os.File, ours bool, err error) { return nil, true, nil }

// SweepScratch removes nothing: this system does not tell which directories are in use.
func SweepScratch() (removed int) { return 0 }
