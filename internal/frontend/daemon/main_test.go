package daemon

import (
	"os"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// A client that is attached, or was attached lately, keeps the host.
func TestClientsAbsent(t *testing.T) {
	var c Clients
	now := time.Now()
	if !c.absent(now) {
		t.Error("nobody was ever attached")
	}
	c.open = 1
	if c.absent(now) {
		t.Error("a client is attached")
	}
	c.open, c.left = 0, now
	if c.absent(now.Add(-time.Minute)) || !c.absent(now.Add(time.Minute)) {
		t.Error("the client that left counts wrongly")
	}
}
