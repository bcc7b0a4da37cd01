//go:build !linux

package sandbox

func runSandboxed() {}
