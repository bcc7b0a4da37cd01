package event

import "testing"

// Tokens are bounded, and have no gaps: what comes after too many is not kept.
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
