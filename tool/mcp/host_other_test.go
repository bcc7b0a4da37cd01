//go:build !linux

package mcp_test

const hostRole = "SETTLE_TEST_MCP_HOST"

// playHost exists on platforms with supervisors.
func playHost() {}
