package main

import (
	"os"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/modeltest/leak"
)

var server pgtest.Server

// tests ends the server before leaks are counted.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer server.Stop()
	return t.M.Run()
}

func TestMain(m *testing.M) {
	settle.RunAsWarden()
	os.Exit(leak.Run(tests{m}))
}
