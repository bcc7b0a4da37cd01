package event

import (
	"encoding/json"
	"math"
	"testing"
)

// Tokens are bounded, and have no gaps: tokens beyond the bound are not kept.
func TestTokensAreBounded(t *testing.T) {
	var got Tokens
	got.Add(Tokens{Prompt: make([]int32, maxTokens-1)})
	got.Add(Tokens{Completion: []int32{1}})
	if got.Incomplete || len(got.Completion) != 1 {
		t.Fatal("a list at the bound is incomplete")
	}
	got.Add(Tokens{Completion: []int32{2, 3}})
	got.Prompt = nil
	got.Add(Tokens{Completion: []int32{4}})
	if !got.Incomplete || len(got.Completion) != 1 {
		t.Errorf("%d tokens, incomplete: %t", len(got.Completion), got.Incomplete)
	}
}

// TestSumsSaturate: logs can come from other programs. No number in them makes a sum
// wrap around, or one that cannot be written.
func TestSumsSaturate(t *testing.T) {
	huge := Usage{Input: 1 << 62, CacheRead: math.MaxInt64, Output: 1 << 62, Reasoning: -5}
	sum := huge.Add(huge)
	if want := (Usage{Input: math.MaxInt64, CacheRead: math.MaxInt64, Output: math.MaxInt64}); sum != want ||
		sum.Total() != math.MaxInt64 {
		t.Errorf("%+v, total %d", sum, sum.Total())
	}
	var s Summary
	for _, cost := range []float64{1e308, 1e308, -3, math.NaN()} {
		s.Add(AttemptEnded{Usage: huge, Cost: &cost})
	}
	other := s
	other.Steps, other.Unpriced = math.MaxInt, math.MaxInt
	for range 3 {
		s.Join(other)
	}
	if s.Cost != maxCost || s.Steps != math.MaxInt || s.Unpriced != math.MaxInt {
		t.Errorf("%+v", s)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}
