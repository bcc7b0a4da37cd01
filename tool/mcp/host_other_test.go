//go:build !linux

package mcp_test

const hostRole = "SETTLE_TEST_MCP_HOST"

// playHost is of platforms with wardens.
func playHost() {}
