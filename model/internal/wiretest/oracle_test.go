//go:build !fuzzing

package wiretest_test

import (
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/settle-agent/settle/model/internal/wiretest"
)

// TestRoundTripFindsFaults makes sure that the oracle can say no.
func TestRoundTripFindsFaults(t *testing.T) {
	for name, body := range map[string]string{
		"unknown member":        `{"model":"m","max_tokens":1,"messages":[],"bogus":1}`,
		"unknown nested member": `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","bogus":1}]}]}`,
		"unknown block":         `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"bogus","text":"a"}]}]}`,
		"wrong type":            `{"model":"m","max_tokens":"many","messages":[]}`,
	} {
		diff, err := wiretest.RoundTrip([]byte(body), new(sdk.BetaMessageNewParams))
		t.Log(name, err, diff)
		if diff == "" && err == nil {
			t.Errorf("%s was not found", name)
		}
	}
}
