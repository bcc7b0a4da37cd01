package transport

import "strings"

// Dialect has the known deviations of a server from its wire format. model/chat adds the deviations
// from Chat Completions by the name.
type Dialect struct {
	// Name is the name of the dialect; "" if no deviations are known.
	Name string
	// GroupedCalls: no other item stands between the calls of a response (Responses API).
	GroupedCalls bool
	// ThinkingCalls: a message with calls has a thinking block (Messages API).
	ThinkingCalls bool
}

// domains returns the dialect of the servers of a domain.
func domains() map[string]Dialect {
	moonshot, gemini := Dialect{Name: "moonshot"}, Dialect{Name: "gemini"}
	return map[string]Dialect{
		"mistral.ai":                        {Name: "mistral"},
		"deepseek.com":                      {Name: "deepseek", GroupedCalls: true, ThinkingCalls: true},
		"moonshot.ai":                       moonshot,
		"moonshot.cn":                       moonshot,
		"kimi.com":                          moonshot,
		"generativelanguage.googleapis.com": gemini,
		"aiplatform.googleapis.com":         gemini,
		"groq.com":                          {Name: "groq"},
		"x.ai":                              {Name: "xai"},
		"openrouter.ai":                     {Name: "openrouter"},
	}
}

// DialectOf returns the dialect of a server by its host.
func DialectOf(host string) Dialect {
	for domain, dialect := range domains() {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return dialect
		}
	}
	// Regions of Vertex AI have hosts of their own.
	if strings.HasSuffix(host, "-aiplatform.googleapis.com") || strings.HasSuffix(host, ".rep.googleapis.com") {
		return domains()["aiplatform.googleapis.com"]
	}
	return Dialect{}
}
