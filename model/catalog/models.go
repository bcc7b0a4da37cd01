package catalog

// Builtin returns the models that settle knows.
func Builtin() Table {
	t := Table{}
	addClaude(t)
	addGPT(t)
	addGemini(t)
	for name, m := range t {
		m.Family = familyOf(name)
		t[name] = m
	}
	return t
}

// addClaude: tools are searched for all of them
// (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool).
func addClaude(t Table) {
	all := []string{"low", "medium", "high", "xhigh", "max"}
	noXHigh := []string{"low", "medium", "high", "max"}
	million := Model{Window: 1_000_000, MaxOutput: 128_000, Images: true, Thinking: Adaptive, Efforts: all, ToolSearch: true}
	bound := million
	bound.BoundThinking = true

	t["claude-haiku-5-5"] = bound
	t["claude-sonnet-5-5"] = bound.thinks(AdaptiveBetween)
	t["claude-opus-5-5"] = bound.thinks(AdaptiveAlways)
	t["claude-fable-5-1"] = bound.thinks(AdaptiveAlways)
	t["claude-mythos-5-1"] = bound.thinks(AdaptiveAlways)

	t["claude-opus-5"] = million
	t["claude-sonnet-5"] = million
	t["claude-fable-5"] = million.thinks(AdaptiveAlways)
	t["claude-mythos-5"] = million.thinks(AdaptiveAlways)
	t["claude-mythos-preview"] = million.thinks(AdaptiveAlways)
	t["claude-opus-4-8"] = million
	t["claude-opus-4-7"] = million
	t["claude-opus-4-6"] = Model{Window: 1_000_000, MaxOutput: 128_000, Images: true, Thinking: Adaptive, Efforts: noXHigh, ToolSearch: true}
	t["claude-sonnet-4-6"] = Model{Window: 1_000_000, MaxOutput: 64_000, Images: true, Thinking: Adaptive, Efforts: noXHigh[:3], ToolSearch: true}

	budget := Model{Window: 200_000, MaxOutput: 64_000, Images: true, Thinking: ByBudget, Interleaved: true, ToolSearch: true}
	t["claude-opus-4-5"] = budget
	t["claude-sonnet-4-5"] = budget
	t["claude-haiku-4-5"] = budget
}

func (m Model) thinks(how Thinking) Model {
	m.Thinking = how
	return m
}

// addGPT: tools are searched for GPT-5.4 and later
// (developers.openai.com/api/docs/guides/tools-tool-search).
func addGPT(t Table) {
	upTo := func(last string, from ...string) []string { return append(from, "low", "medium", "high", last) }
	million := Model{
		Window: 1_050_000, MaxOutput: 128_000, Images: true, Thinking: ByEffort, Grammar: true,
		Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}, ToolSearch: true,
	}
	for _, name := range []string{
		"gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-sol", "gpt-6-astra", "gpt-6-luna",
		"gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna",
	} {
		t[name] = million
	}
	million.Efforts = upTo("xhigh", "none")
	t["gpt-5.5"], t["gpt-5.4"] = million, million

	gpt5 := Model{Window: 400_000, MaxOutput: 128_000, Images: true, Thinking: ByEffort, Grammar: true}
	gpt5.Efforts = upTo("xhigh", "none")
	t["gpt-5.4-nano"], t["gpt-5.2"] = gpt5, gpt5
	mini := gpt5
	mini.ToolSearch = true
	t["gpt-5.4-mini"] = mini
	gpt5.Efforts = upTo("xhigh")
	t["gpt-5.3-codex"], t["gpt-5.2-codex"], t["gpt-5.1-codex-max"] = gpt5, gpt5, gpt5
	gpt5.Efforts = []string{"none", "low", "medium", "high"}
	t["gpt-5.1"] = gpt5
	gpt5.Efforts = []string{"low", "medium", "high"}
	t["gpt-5-codex"], t["gpt-5.1-codex"] = gpt5, gpt5
	gpt5.Efforts = []string{"minimal", "low", "medium", "high"}
	t["gpt-5"], t["gpt-5-mini"], t["gpt-5-nano"] = gpt5, gpt5, gpt5

	o := Model{Window: 200_000, MaxOutput: 100_000, Images: true, Thinking: ByEffort, Efforts: []string{"low", "medium", "high"}}
	t["o3"], t["o4-mini"] = o, o
	t["gpt-4.1"] = Model{Window: 1_047_576, MaxOutput: 32_768, Images: true}
	t["gpt-4.1-mini"], t["gpt-4.1-nano"] = t["gpt-4.1"], t["gpt-4.1"]
	t["gpt-4o"] = Model{Window: 128_000, MaxOutput: 16_384, Images: true}
	t["gpt-4o-mini"] = t["gpt-4o"]
	t["gpt-oss-120b"] = Model{Window: 131_072, MaxOutput: 131_072, Thinking: ByEffort, Efforts: o.Efforts}
	t["gpt-oss-20b"] = t["gpt-oss-120b"]
}

func addGemini(t Table) {
	three := Model{Window: 1_048_576, MaxOutput: 65_536, Images: true, Thinking: ByEffort, Efforts: []string{"minimal", "low", "medium", "high"}}
	for _, name := range []string{"gemini-3.8-flash", "gemini-3.5-flash", "gemini-3-flash", "gemini-3.1-flash-lite"} {
		t[name] = three
	}
	three.Efforts = three.Efforts[1:]
	t["gemini-3.1-pro"] = three

	budget := Model{Window: 1_048_576, MaxOutput: 65_536, Images: true, Thinking: ByBudget}
	t["gemini-2.5-pro"], t["gemini-2.5-flash"], t["gemini-2.5-flash-lite"] = budget, budget, budget
}
