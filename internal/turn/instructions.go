package turn

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/run"
)

// instructionState records the project's instructions that the model has received.
type instructionState struct {
	instructedCalls int             // calls whose instructions were added
	knownFiles      map[string]bool // files that the model has; nil if not read from the log yet
}

// maxInstructions bounds the project's instructions that a session's model receives besides
// its system prompt, in bytes. Of further files, the model receives the path only.
const maxInstructions = 64 << 10

// addInstructions gives the model the project's instructions for the places where the calls
// since the last step worked. Each file is given once in a session; the log has which.
func (t *turn) addInstructions(ctx context.Context) error {
	calls := t.calls[t.instructedCalls:]
	t.instructedCalls = len(t.calls)
	if t.Instructions == nil || len(calls) == 0 {
		return nil
	}
	found, err := t.instructions(ctx, calls)
	if err != nil {
		return err
	}
	return t.update(func(s event.State) (out []event.Event) {
		if ctx.Err() != nil { // C10: nothing starts after the interrupt
			return nil
		}
		for _, one := range found {
			if t.knownFiles == nil {
				t.knownFiles, t.window.instructionBytes = knownInstructions(s)
			}
			if t.knownFiles[one.Path] {
				continue
			}
			t.knownFiles[one.Path] = true
			text := fmt.Sprintf(
				"[You work where the project has instructions of its own. %s says:]\n\n%s", one.Path,
				t.Redact.String(one.Text),
			)
			if t.window.instructionBytes+len(one.Text) > maxInstructions {
				text = fmt.Sprintf(
					"[You work where the project has instructions of its own, in %s. Read them before you continue.]",
					one.Path,
				)
			} else {
				t.window.instructionBytes += len(one.Text)
			}
			id := s.NextItem(len(out) / 2)
			content := event.Content{Type: event.Note, Text: text, Instruction: one.Path}
			out = append(out,
				event.Event{Turn: t.id, Item: id, Data: event.ItemStarted{Type: event.Note}},
				event.Event{Turn: t.id, Item: id, Data: event.ItemEnded{Status: event.ItemCompleted, Content: content}})
		}
		return out
	})
}

// instructions returns the instruction files for the places where the calls worked. It reads
// files, so it stops waiting when ctx ends.
func (t *turn) instructions(ctx context.Context, calls []*call) ([]run.Instruction, error) {
	var worked []event.Content
	t.Log.View(func(s event.State) {
		running := s.Running()
		for _, c := range calls {
			if i := running.Item(c.item); i != nil && i.Started {
				worked = append(worked, i.Content())
			}
		}
	})
	if len(worked) == 0 {
		return nil, nil
	}
	done := make(chan []run.Instruction, 1)
	// Ends with its last file. A file system that hangs keeps it, and nothing waits for it.
	go scope.Shield(
		func(err error) { t.panicked("reading instructions panicked")(err); done <- nil },
		func() { done <- t.Instructions(t.Dir, worked) },
	)()
	select {
	case found := <-done:
		return found, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// knownInstructions returns the files that the session's model has received, and the sum of
// their sizes.
func knownInstructions(s event.State) (files map[string]bool, bytes int) {
	files = map[string]bool{}
	for _, t := range s.Turns {
		for _, i := range t.Items {
			if i.Type() == event.Note && i.Status == event.ItemCompleted {
				if c := i.Content(); c.Instruction != "" {
					files[c.Instruction] = true
					bytes += len(c.Text)
				}
			}
		}
	}
	return files, bytes
}
