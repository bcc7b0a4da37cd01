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
	million := Model{
		Window:        1_000_000,
		MaxOutput:     128_000,
		Images:        true,
		DocumentPages: claudePages,
		Thinking:      Adaptive,
		Efforts:       all,
		ToolSearch:    true,
	}
	bound := million
	bound.BoundThinking = true

	t.add(bound, "claude-haiku-5-5")
	t.add(bound.thinks(AdaptiveBetween), "claude-sonnet-5-5")
	t.add(bound.thinks(AdaptiveAlways), "claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1")

	t.add(million, "claude-opus-5", "claude-sonnet-5")
	t.add(million.thinks(AdaptiveAlways), "claude-fable-5", "claude-mythos-5", "claude-mythos-preview")
	t.add(million, "claude-opus-4-8", "claude-opus-4-7")
	t.add(
		Model{
			Window:        1_000_000,
			MaxOutput:     128_000,
			Images:        true,
			DocumentPages: claudePages,
			Thinking:      Adaptive,
			Efforts:       noXHigh,
			ToolSearch:    true,
		},
		"claude-opus-4-6",
	)
	t.add(
		Model{
			Window:        1_000_000,
			MaxOutput:     64_000,
			Images:        true,
			DocumentPages: claudePages,
			Thinking:      Adaptive,
			Efforts:       noXHigh[:3],
			ToolSearch:    true,
		},
		"claude-sonnet-4-6",
	)

	budget := Model{
		Window:        200_000,
		MaxOutput:     64_000,
		Images:        true,
		DocumentPages: claudePagesSmallWindow,
		Thinking:      ByBudget,
		Interleaved:   true,
		ToolSearch:    true,
	}
	t.add(budget, "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")
}

// The providers' limits of pages:
// platform.claude.com/docs/en/build-with-claude/pdf-support,
// ai.google.dev/gemini-api/docs/document-processing. OpenAI only has one of bytes
// (developers.openai.com/api/docs/guides/file-inputs), and every page costs an image.
const (
	claudePages, claudePagesSmallWindow = 600, 100
	geminiPages, gptPages               = 1000, 1000
	// geminiPageTokens are more than the 560 of an image of medium resolution: the text counts too.
	geminiPageTokens = 800
)

// add adds models with their properties. A copy of the properties in each entry would be most of
// the table.
func (t Table) add(m Model, names ...string) {
	for _, name := range names {
		t[name] = m
	}
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
		Window: 1_050_000, MaxOutput: 128_000, Images: true, DocumentPages: gptPages, Thinking: ByEffort, Grammar: true,
		Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"}, ToolSearch: true,
	}
	t.add(
		million, "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-sol", "gpt-6-astra", "gpt-6-luna", "gpt-5.6", "gpt-5.6-sol",
		"gpt-5.6-terra", "gpt-5.6-luna",
	)
	million.Efforts = upTo("xhigh", "none")
	t.add(million, "gpt-5.5", "gpt-5.4")

	gpt5 := Model{
		Window: 400_000, MaxOutput: 128_000, Images: true, DocumentPages: gptPages, Thinking: ByEffort, Grammar: true,
	}
	gpt5.Efforts = upTo("xhigh", "none")
	t.add(gpt5, "gpt-5.4-nano", "gpt-5.2")
	mini := gpt5
	mini.ToolSearch = true
	t.add(mini, "gpt-5.4-mini")
	gpt5.Efforts = upTo("xhigh")
	t.add(gpt5, "gpt-5.3-codex", "gpt-5.2-codex", "gpt-5.1-codex-max")
	gpt5.Efforts = []string{"none", "low", "medium", "high"}
	t.add(gpt5, "gpt-5.1")
	gpt5.Efforts = []string{"low", "medium", "high"}
	t.add(gpt5, "gpt-5-codex", "gpt-5.1-codex")
	gpt5.Efforts = []string{"minimal", "low", "medium", "high"}
	t.add(gpt5, "gpt-5", "gpt-5-mini", "gpt-5-nano")

	o := Model{
		Window:        200_000,
		MaxOutput:     100_000,
		Images:        true,
		DocumentPages: gptPages,
		Thinking:      ByEffort,
		Efforts:       []string{"low", "medium", "high"},
	}
	t.add(o, "o3", "o4-mini")
	t.add(
		Model{Window: 1_047_576, MaxOutput: 32_768, Images: true, DocumentPages: gptPages}, "gpt-4.1", "gpt-4.1-mini",
		"gpt-4.1-nano",
	)
	t.add(Model{Window: 128_000, MaxOutput: 16_384, Images: true, DocumentPages: gptPages}, "gpt-4o", "gpt-4o-mini")
	t.add(
		Model{Window: 131_072, MaxOutput: 131_072, Thinking: ByEffort, Efforts: o.Efforts}, "gpt-oss-120b",
		"gpt-oss-20b",
	)
}

func addGemini(t Table) {
	three := Model{
		Window:        1_048_576,
		MaxOutput:     65_536,
		Images:        true,
		DocumentPages: geminiPages,
		PageTokens:    geminiPageTokens,
		Thinking:      ByEffort,
		Efforts:       []string{"minimal", "low", "medium", "high"},
	}
	for _, name := range []string{"gemini-3.8-flash", "gemini-3.5-flash", "gemini-3-flash", "gemini-3.1-flash-lite"} {
		t[name] = three
	}
	three.Efforts = three.Efforts[1:]
	t.add(three, "gemini-3.1-pro")

	budget := three
	budget.Thinking, budget.Efforts = ByBudget, nil
	t.add(budget, "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite")
}
