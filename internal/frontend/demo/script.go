package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// stubbornCommand ignores signals; awake is its first output.
const (
	stubbornCommand = `trap '' TERM INT; echo awake; sleep 60`
	awake           = "awake"
)

const wordDelay = 15 * time.Millisecond

// edits is the script of the turn that changes a file.
func edits() *script.Model {
	return script.New(
		script.Turn(
			spokenText(
				"I am a script, not a language model; everything else here is real. I read the greeting and change it.",
			),
			script.Call("read", `{"path":"greeting.txt"}`),
		),
		script.Turn(
			script.Call("edit", `{"path":"greeting.txt","old_string":"hello","new_string":"hello, world"}`),
		),
		spokenText("Changed, after your approval."),
	)
}

// killedCommand runs when the demo kills its host; building is a part of it.
const (
	killedCommand = `trap '' TERM INT; echo building; sleep 60`
	building      = "building"
)

// killed is the script of the turn whose host is killed.
func killed() *script.Model {
	return script.New(
		script.Turn(
			spokenText("Now the worst case: while my next command runs, the demo kills the process of settle."),
			script.Call("shell", fmt.Sprintf(`{"command":%q}`, killedCommand)),
		),
	)
}

// first is the script of the interrupted turn.
func first() *script.Model {
	return script.New(
		script.Turn(
			spokenText(
				"First, two commands at once.",
			),
			script.Call("shell", `{"command":"sleep 0.5; ls"}`),
			script.Call("shell", `{"command":"sleep 0.3; date"}`),
		),
		script.Turn(
			spokenText(
				"Both are done. Next is a command that ignores SIGTERM and would run for a minute. The demo interrupts me while it runs.",
			),
			script.Call("shell", fmt.Sprintf(`{"command":%q}`, stubbornCommand)),
		),
	)
}

// second is the script of the second turn. It quotes the result of the interrupted call
// that the request contains.
func second() *script.Model {
	return script.New(script.Answer(func(req model.Request) script.Step {
		result := "nothing"
		for _, item := range req.Input {
			if item.Role == model.Output {
				result = item.Text
			}
		}
		result = strings.Join(strings.Fields(result), " ")
		return spokenText(
			fmt.Sprintf("I continue from the log. It has this result for the command that was running: %q", result),
		)
	}))
}

// spokenText is a message that arrives word by word.
func spokenText(text string) script.Step {
	steps := []script.Step{script.Chunk(model.Chunk{Kind: model.ItemStart, Role: model.Assistant})}
	for _, word := range strings.SplitAfter(text, " ") {
		steps = append(
			steps, script.Delay(wordDelay),
			script.Chunk(model.Chunk{Kind: model.Delta, Role: model.Assistant, Text: word}),
		)
	}
	return script.Turn(append(steps, script.Chunk(model.Chunk{Kind: model.ItemEnd, Role: model.Assistant}))...)
}
