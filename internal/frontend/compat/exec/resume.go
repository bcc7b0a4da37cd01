package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// Arguments are the parsed words of the command line.
type Arguments struct {
	// Prompt has the words of the prompt; "-" or no words mean standard input.
	Prompt []string
	// Resume continues a session: the named session, or the last one.
	Resume  bool
	Session string
}

// Read parses the words. last reports that --last was given. dash is the number of words before
// "--", or -1 without one: words after "--" are not a command.
func Read(words []string, last bool, dash int) (Arguments, error) {
	command := ""
	if len(words) > 0 && dash != 0 {
		command = words[0]
	}
	switch command {
	case "resume":
	case "fork", "review":
		return Arguments{}, fmt.Errorf(
			"settle has no \"exec %s\"; a prompt that is one word goes behind \"--\"", command,
		)
	default:
		if last {
			return Arguments{}, errors.New("--last belongs to \"exec resume\"")
		}
		return Arguments{Prompt: words}, checkOnePrompt(words)
	}
	a := Arguments{Resume: true, Prompt: words[1:]}
	if last {
		return a, checkOnePrompt(a.Prompt)
	}
	if len(a.Prompt) == 0 {
		return a, errors.New("exec resume: name a session, or say --last")
	}
	a.Session, a.Prompt = a.Prompt[0], a.Prompt[1:]
	if a.Session == "" { // a variable that was not set must not mean another's session
		return a, errors.New("exec resume: the session's name is empty; name one, or say --last")
	}
	return a, checkOnePrompt(a.Prompt)
}

func checkOnePrompt(prompt []string) error {
	if len(prompt) > 1 {
		return fmt.Errorf("the prompt is one argument, and there are %d; put it into quotes", len(prompt))
	}
	return nil
}

// Find returns the session to continue. dir is the working directory of the last session;
// "" for any.
func (a Arguments) Find(ctx context.Context, dataDir, dir string) (string, error) {
	if a.Session == "" {
		return rewind.LastSession(ctx, dataDir, dir)
	}
	id, err := store.Resolve(dataDir, a.Session)
	if _, several := errors.AsType[*store.AmbiguousError](err); several {
		return "", fmt.Errorf("cannot continue: %w", err)
	}
	if err == nil {
		a.Session = id
	}
	for _, err := range journal.Read(ctx, dataDir, a.Session, 0) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if damage := (*journal.DamageError)(nil); err != nil && !errors.As(err, &damage) { // C20: opening mends that
			return "", fmt.Errorf("cannot continue session %q: %w", a.Session, err)
		}
		return a.Session, nil
	}
	return "", fmt.Errorf("cannot continue session %q: there is no such session", a.Session)
}
