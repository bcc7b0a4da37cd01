package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// stubborn is a command that does not end when it is asked to; awake is what it
// says once it runs.
const (
	stubborn = `trap '' TERM INT; echo awake; sleep 60`
	awake    = "awake"
)

const wordDelay = 15 * time.Millisecond

// first is the script of the turn that is interrupted.
func first() *script.Model {
	return script.New(
		script.Turn(
			spoken("I am a script, not a language model; everything else here is real. First, two commands at once."),
			script.Call("shell", `{"command":"sleep 0.5; ls"}`),
			script.Call("shell", `{"command":"sleep 0.3; date"}`),
		),
		script.Turn(
			spoken("Both are done. Now one that ignores TERM and would run for a minute; somebody interrupts me in the middle of it."),
			script.Call("shell", fmt.Sprintf(`{"command":%q}`, stubborn)),
		),
	)
}

// second is the script of the second turn. It quotes the result of the interrupted call
// that the request contains.
func second() *script.Model {
	return script.New(script.Answer(func(req model.Request) script.Step {
		told := "nothing"
		for _, item := range req.Input {
			if item.Role == model.Output {
				told = item.Text
			}
		}
		told = strings.Join(strings.Fields(told), " ")
		return spoken(fmt.Sprintf("I go on where we were. Of the last call I was told: %q", told))
	}))
}

// spoken is text that comes word by word.
func spoken(text string) script.Step {
	steps := []script.Step{script.Chunk(model.Chunk{Kind: model.ItemStart, Role: model.Assistant})}
	for _, word := range strings.SplitAfter(text, " ") {
		steps = append(steps, script.Delay(wordDelay), script.Chunk(model.Chunk{Kind: model.Delta, Role: model.Assistant, Text: word}))
	}
	return script.Turn(append(steps, script.Chunk(model.Chunk{Kind: model.ItemEnd, Role: model.Assistant}))...)
}
