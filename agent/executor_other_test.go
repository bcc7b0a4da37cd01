//go:build !unix

package agent_test

func playExecutor() {}
