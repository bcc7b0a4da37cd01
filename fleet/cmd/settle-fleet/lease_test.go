//go:build !temporal

package main

import "testing"

// setEngine has the commands use the lease.
func setEngine(*testing.T) {}

func stopEngine() {}
