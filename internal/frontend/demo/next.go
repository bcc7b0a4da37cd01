package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// localServers are the usual addresses of model servers on this machine: Ollama, LM Studio,
// vLLM and llama.cpp.
func localServers() []string {
	return []string{
		"http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8080/v1",
	}
}

// nextCommands are three commands to try, which fit the machine: a key is set, a model
// server answers, or neither.
func nextCommands(ctx context.Context, environ, servers []string) string {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY":
			if strings.TrimSpace(value) != "" {
				return "  settle                                 # work in this directory; " + name + " is set\n" +
					"  settle run \"explain this repository\"   # one task, for scripts as well\n" +
					"  settle serve                           # the same in a browser\n"
			}
		}
	}
	for _, base := range servers {
		if model := served(ctx, base); model != "" {
			flags := "--model chat/" + model + " --base-url " + base
			return "  settle " + flags + "    # a server answers there\n" +
				"  settle run " + flags + " \"explain this repository\"\n" +
				"  settle serve " + flags + "\n"
		}
	}
	return "  export ANTHROPIC_API_KEY=…    # or OPENAI_API_KEY, GEMINI_API_KEY; or start Ollama\n" +
		"  settle doctor                 # checks the key, the data directory and the sandbox\n" +
		"  settle                        # work in this directory\n"
}

// served is the name of the first model of a server; empty if none answers.
func served(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(response.Body).Decode(&list) != nil || len(list.Data) == 0 {
		return ""
	}
	if name := list.Data[0].ID; strings.Trim(name, nameLetters) == "" {
		return name
	}
	return ""
}

// nameLetters are the characters of a model's name that a shell takes as they are.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@"
