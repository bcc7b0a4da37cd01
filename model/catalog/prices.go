package catalog

import (
	"regexp"
	"strings"
	"sync"

	"github.com/settle-agent/settle/model"
)

// Price returns the price of the model at its own provider at standard speed, or nil if it is not
// known. A date behind the name is no other model; any other ending, such as "-fast", is.
//
// The prices are of November 2026, from https://platform.claude.com/docs/en/about-claude/pricing,
// https://developers.openai.com/api/docs/pricing and, as others quote it,
// https://ai.google.dev/gemini-api/docs/pricing. The price of a cache write of Claude is for an
// entry with a lifetime of five minutes.
func Price(name string) *model.Price {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(name, dated().FindString(name))
	if p, ok := prices()[name]; ok {
		return &p
	}
	return nil
}

// Both are made once, not for each session.
var (
	dated  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d)$`) })
	prices = sync.OnceValue(func() map[string]model.Price {
		all := map[string]model.Price{}
		claudePrices(all)
		gptPrices(all)
		geminiPrices(all)
		return all
	})
)

func claudePrices(all map[string]model.Price) {
	add := func(input, output, read float64, names ...string) {
		for _, name := range names {
			all["claude-"+name] = model.Price{Input: input, CacheRead: read, CacheWrite: input * 1.25, Output: output}
		}
	}
	add(10, 50, 0.25, "fable-5-1", "mythos-5-1")
	add(10, 50, 1, "fable-5", "mythos-5")
	add(4, 20, 0.2, "opus-5-5")
	add(5, 25, 0.5, "opus-5", "opus-4-8", "opus-4-7", "opus-4-6", "opus-4-5")
	add(2, 10, 0.1, "sonnet-5-5")
	add(2, 10, 0.2, "sonnet-5")
	add(3, 15, 0.3, "sonnet-4-6", "sonnet-4-5")
	add(1, 5, 0.1, "haiku-4-5")
	haiku := model.Price{
		Input:      0.1,
		CacheRead:  0.01,
		CacheWrite: 0.125,
		Output:     0.5,
		LongAbove:  100_000,
		LongInput:  5,
		LongOutput: 5,
	}
	all["claude-haiku-5-5"] = haiku
}

// priced gives models a price. It is called in many places, none of which is hot: a
// copy of it in each would be most of the table.
func priced(all map[string]model.Price, input, read, write, output float64, names ...string) {
	p := model.Price{Input: input, CacheRead: read, CacheWrite: write, Output: output}
	for _, name := range names {
		all[name] = p
	}
}

func gptPrices(all map[string]model.Price) {
	add := func(input, read, write, output float64, names ...string) {
		priced(all, input, read, write, output, names...)
	}
	add(2, 0.1, 2.5, 10, "gpt-6.1-sol")
	add(1, 0.05, 1.25, 5, "gpt-6.1-terra")
	add(2, 0.2, 2.5, 10, "gpt-6-sol")
	add(10, 1, 12.5, 50, "gpt-6-astra")
	add(0.1, 0.01, 0.125, 0.5, "gpt-6-luna")
	add(4, 0.4, 5, 20, "gpt-5.6", "gpt-5.6-sol")
	add(2, 0.2, 2.5, 12, "gpt-5.6-terra")
	add(0.2, 0.02, 0.25, 1.2, "gpt-5.6-luna")
	add(5, 0.5, 5, 30, "gpt-5.5")
	add(2.5, 0.25, 2.5, 15, "gpt-5.4")
	for name, p := range all { // so far, models with a window of a million
		if strings.HasPrefix(name, "gpt-") {
			p.LongAbove, p.LongInput, p.LongOutput = 272_000, 2, 1.5
			all[name] = p
		}
	}
	add(0.75, 0.075, 0.75, 4.5, "gpt-5.4-mini")
	add(0.2, 0.02, 0.2, 1.25, "gpt-5.4-nano")
	add(1.75, 0.175, 1.75, 14, "gpt-5.3-codex", "gpt-5.2", "gpt-5.2-codex")
	add(1.25, 0.125, 1.25, 10, "gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-max", "gpt-5", "gpt-5-codex")
	add(0.25, 0.025, 0.25, 2, "gpt-5-mini")
	add(0.05, 0.005, 0.05, 0.4, "gpt-5-nano")
	add(2, 0.5, 2, 8, "gpt-4.1", "o3")
	add(0.4, 0.1, 0.4, 1.6, "gpt-4.1-mini")
	add(0.1, 0.025, 0.1, 0.4, "gpt-4.1-nano")
	add(2.5, 1.25, 2.5, 10, "gpt-4o")
	add(0.15, 0.075, 0.15, 0.6, "gpt-4o-mini")
	add(1.1, 0.275, 1.1, 4.4, "o4-mini")
}

// geminiPrices: tokens read from the cache cost a tenth; writing the cache costs nothing
// extra. The prices of gemini-3.8-flash hold until the end of 2026.
func geminiPrices(all map[string]model.Price) {
	add := func(input, output float64, name string) {
		all[name] = model.Price{Input: input, CacheRead: input / 10, CacheWrite: input, Output: output}
	}
	add(0.75, 3.75, "gemini-3.8-flash")
	add(1.5, 9, "gemini-3.5-flash")
	add(0.5, 3, "gemini-3-flash")
	add(0.25, 1.5, "gemini-3.1-flash-lite")
	add(0.3, 2.5, "gemini-2.5-flash")
	add(0.1, 0.4, "gemini-2.5-flash-lite")
	add(2, 12, "gemini-3.1-pro")
	add(1.25, 10, "gemini-2.5-pro")
	for _, name := range []string{"gemini-3.1-pro", "gemini-2.5-pro"} {
		p := all[name]
		p.LongAbove, p.LongInput, p.LongOutput = 200_000, 2, 1.5
		all[name] = p
	}
	for _, name := range []string{"gemini-3.1-pro", "gemini-3-flash"} {
		all[name+"-preview"] = all[name]
	}
}
