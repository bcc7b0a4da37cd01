package main

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet/index"
)

// TestProgress: the estimate is that of the last minute's throughput.
func TestProgress(t *testing.T) {
	var p progress
	begin := time.Unix(0, 0)
	if line := p.line(begin, index.Counts{Queued: 90, Running: 10}); line != "0 of 100 ended, 10 running, 90 waiting" {
		t.Errorf("%q", line)
	}
	line := p.line(
		begin.Add(10*time.Second),
		index.Counts{Queued: 70, Running: 10, Ended: 20, Completed: 20, Tokens: 500, USD: 1.5},
	)
	if line != "20 of 100 ended, 10 running, 70 waiting; 2.0/s, about 40s left; 500 tokens, $1.50" {
		t.Errorf("%q", line)
	}
	p.line(begin.Add(100*time.Second), index.Counts{Queued: 70, Running: 10, Ended: 20, Completed: 20})
	if line := p.line(begin.Add(110*time.Second), index.Counts{Queued: 60, Running: 10, Ended: 30, Failed: 3}); !strings.Contains(
		line, "(3 failed, 0 aborted), 10 running, 60 waiting; 1.0/s, about 1m10s left",
	) {
		t.Errorf("%q", line)
	}
	if line := p.line(begin.Add(120*time.Second), index.Counts{Ended: 100}); strings.Contains(line, "left") {
		t.Errorf("%q", line)
	}
}
