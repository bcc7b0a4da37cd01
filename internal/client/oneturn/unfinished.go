package oneturn

import (
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Unfinished returns the prompt of a turn that continues the work of an earlier process: the
// session's last turn ended as "crashed" or "shutdown", or an input was accepted and no turn
// took it. It refuses other sessions.
func Unfinished(state event.State) (prompt string, err error) {
	refuse := func(why string) (string, error) {
		return "", &UsageError{fmt.Sprintf(
			"cannot continue session %s: %s; to go on, give a prompt: settle run --resume %[1]s PROMPT",
			state.Session,
			why,
		)}
	}
	waits := slices.ContainsFunc(state.Waiting, func(i event.Input) bool { return i.Held })
	cause := event.Complete()
	if n := len(state.Turns); n > 0 && state.Turns[n-1].Cause != nil {
		cause = state.Turns[n-1].Cause
	} else if !waits {
		return refuse("it has no turn that ended")
	}
	switch {
	case cause.Reason == event.Crashed:
		return crashedPrompt, nil
	case cause.Reason == event.Shutdown:
		return shutdownPrompt, nil
	case cause.Outcome == event.Completed && waits:
		return waitingPrompt, nil
	}
	return refuse("its last turn ended as \"" + event.EndingWords(cause.Outcome, cause.Reason) + "\"")
}

// The prompts of Unfinished. The history has each call that was cut, with its effects.
const (
	continuePrompt = " before you had finished. Continue the work from where it stopped. A call without a result " +
		"may have had effects, also when its output says that it was aborted: look at the files and processes " +
		"before you repeat it."
	crashedPrompt  = "The process that ran your last turn died" + continuePrompt
	shutdownPrompt = "The process that ran your last turn was ended" + continuePrompt
	waitingPrompt  = "The process that should have run the message above ended first. Do now what the message asks."
)
