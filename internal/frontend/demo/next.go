package demo

import (
	"context"
	"strings"

	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/internal/proc"
)

// nextCommands are three commands to try, which fit the machine: a key is set, a model
// server answers, or neither.
func nextCommands(ctx context.Context, environ []string, servers []setup.Server) string {
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
	for _, s := range setup.Find(ctx, servers) {
		if len(s.Models) > 0 && strings.Trim(s.Models[0], nameLetters) == "" {
			flags := "--model chat/" + s.Models[0] + " --base-url " + s.Base
			return "  settle setup    # " + s.Name + " answers; this keeps one of its models\n" +
				"  settle " + flags + "\n" +
				"  settle run " + flags + " \"explain this repository\"\n"
		}
	}
	return "  settle setup     # choose a model: paste a key, or use a local server such as Ollama\n" +
		"  settle doctor    # checks the key, the data directory and the sandbox\n" +
		"  settle           # work in this directory\n"
}

// afterInstalling is a condition of the commands to try, if no settle is in PATH, as after "go run".
func afterInstalling(environ []string) string {
	if _, err := proc.FindProgram("settle", lookUp(environ, "PATH")); err != nil {
		return ", after you have installed settle (docs/install.md)"
	}
	return ""
}

// nameLetters are the characters of a model's name that a shell takes as they are.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@"
