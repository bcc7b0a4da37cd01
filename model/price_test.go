package model_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

func TestCost(t *testing.T) {
	p := model.Price{
		Input:      4,
		CacheRead:  0.2,
		CacheWrite: 5,
		Output:     20,
		LongAbove:  1_000_000,
		LongInput:  2,
		LongOutput: 1.5,
	}
	for name, tt := range map[string]struct {
		usage event.Usage
		want  float64
	}{
		"nothing":       {event.Usage{}, 0},
		"one token":     {event.Usage{Input: 1}, 0.000004},
		"each kind":     {event.Usage{Input: 1_000_000, CacheRead: 500_000, CacheWrite: 100_000, Output: 10_000, Reasoning: 9_000}, 1.6 + 0.1 + 0.5 + 0.2},
		"long":          {event.Usage{Input: 1_000_001, CacheRead: 1_000_000, Output: 1_000_000}, 2*(0.000004+0.2) + 30},
		"a strange sum": {event.Usage{Input: 5, CacheRead: 10}, 0.000002},
	} {
		if got := p.Cost(tt.usage); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
