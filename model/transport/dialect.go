package transport

import "strings"

// domains returns the dialect of the servers of a domain.
func domains() map[string]string {
	return map[string]string{
		"mistral.ai":                        "mistral",
		"deepseek.com":                      "deepseek",
		"moonshot.ai":                       "moonshot",
		"moonshot.cn":                       "moonshot",
		"kimi.com":                          "moonshot",
		"generativelanguage.googleapis.com": "gemini",
		"aiplatform.googleapis.com":         "gemini",
		"groq.com":                          "groq",
		"x.ai":                              "xai",
		"openrouter.ai":                     "openrouter",
	}
}

// Dialect returns the name of a server's deviations from its wire format, by its host; ""
// if none are known.
func Dialect(host string) string {
	for domain, name := range domains() {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return name
		}
	}
	return ""
}
