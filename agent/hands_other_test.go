//go:build !unix

package agent_test

func playHands() {}
