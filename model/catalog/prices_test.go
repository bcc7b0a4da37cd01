package catalog_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/catalog"
)

func TestPrice(t *testing.T) {
	usage := event.Usage{Input: 200_000, CacheRead: 100_000, Output: 1000}
	for name, want := range map[string]float64{
		"claude-opus-5-5": 0.44, "claude-haiku-5-5": 0.0575, "Claude-Sonnet-4-5-20250929": 0.345, "gpt-6.1-sol": 0.22, "gpt-5-2025-08-07": 0.1475,
		"gpt-5.6-luna-fast": 0, "claude-opus-5-5[1m]": 0, "llama": 0, "": 0,
	} {
		p := catalog.Price(name)
		if (p == nil) != (want == 0) || p != nil && p.Cost(usage) != want {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Each model that settle knows and that is not free has a price.
func TestPricesOfTheBuiltin(t *testing.T) {
	free := map[string]bool{"gpt-oss-120b": true, "gpt-oss-20b": true, "claude-mythos-preview": true}
	for name := range catalog.Builtin() {
		if p := catalog.Price(name); (p == nil) != free[name] {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
