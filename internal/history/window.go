package history

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// overflow: the model holds less than was sent, or counts otherwise. What it
// holds is noted, so that this and all later requests stay below.
func (sent Sent) overflow(target Target, fault *model.Error) Remedy {
	window := sent.window(fault.Message)
	r := Remedy{Change: &event.HistoryChanged{
		Change: event.ChangeWindow, Provider: target.Provider, Model: target.Model, Tokens: window,
		Why: fmt.Sprintf("the provider says that about %d tokens are too many", sent.Tokens),
	}}
	shorter := sent.Tokens > sent.Least+leastGain(sent.Least) && !hopeless(sent.Least, min(window, cmp.Or(sent.Window, window)))
	if shorter || sent.asksMuch(window) {
		r.Again, r.Note = true, "asking again with a shorter history"
		if !shorter {
			r.Note = "asking again for a shorter answer"
		}
		return r
	}
	r.Note = sent.tooLong()
	return r
}

// tooLong tells a person what is too long, where nothing is left to leave out.
func (sent Sent) tooLong() string {
	if sent.Least-sent.Fixed < sent.Least/4 {
		return fmt.Sprintf("the instructions and the tools alone are too long for the model, with about %d tokens. The session is kept; "+
			"choose a model with a larger window, or fewer tools", sent.Fixed)
	}
	return fmt.Sprintf("the message is too long for the model, with about %d tokens. It stays in the log; later requests have its beginning and its end. "+
		"Send a shorter one, or put the text in a file and name that file; you can continue the session", sent.Least-sent.Fixed)
}

// leastGain is by how much a request must get shorter to be worth another try.
func leastGain(tokens int) int { return tokens/16 + 2*tokensPerItem }

// hopeless reports whether a request would be too long without any history, even
// if we count twice what the provider does. Its history is not to suffer from that.
func hopeless(least, window int) bool { return least > 2*window }

// asked is how much output the request asked for, as far as that is known: some
// wire formats have a default of their own.
func (sent Sent) asked() int { return cmp.Or(sent.Answer, usualOutput) }

// asksMuch reports whether it may be the room for the answer that is too much.
func (sent Sent) asksMuch(window int) bool {
	next := answer(window, sent.asked(), sent.Tokens)
	return sent.asked()*8 > sent.Tokens && next < sent.asked()-sent.asked()/16
}

// window estimates what the model holds, output included, from what it said of
// the request: in tokens as we count them, which may not be the provider's. Where
// it names no numbers, it is taken to be half.
func (sent Sent) window(message string) int {
	input, limit := numbers(message, sent.Tokens+sent.Answer)
	switch {
	case input == 0 && 0 < limit && limit < sent.Tokens:
		return limit - limit/10
	case input == 0 && sent.asked() > sent.Tokens: // that may be it
		return sent.Tokens + sent.asked()/2
	case input == 0:
		return max((sent.Tokens+sent.asked())/2, 1)
	}
	// A tenth is for what differs from text to text.
	window := max(int(float64(limit)*min(1, float64(sent.Tokens)/float64(input))*0.9), 1)
	if withOutput(message) {
		return window
	}
	return min(window, sent.Tokens)
}

// withOutput reports whether the message counts the output as well.
func withOutput(message string) bool {
	return strings.Contains(message, "max_tokens") || strings.Contains(message, "max_completion_tokens") || strings.Contains(message, "in the completion")
}

// The forms in which providers name numbers.
const (
	formNumber = `\d[\d,_]*`
	formSum    = `(\d+) \+ \d+ > (\d+)`
	formInput  = `\((\d+) in the messages`
	formLimit  = `(?i)(?:maximum (?:context |input |prompt )?length(?: is| of)?|maximum number of (?:input )?tokens(?: allowed)?` +
		`|context (?:window|size|length|limit)(?: is| of)?|limit(?: is| of)?|cannot exceed|exceeds?|at most|up to|>)[ (:]*(\d[\d,_]*)`
	formBefore = `(?i)(\d[\d,_]*) (?:maximum|tokens? (?:maximum|limit))`
)

// numbers returns what the input was counted as, and what is allowed, as the message
// has them; 0 where it does not say. A number that is far from our own count is
// something else, such as an id.
func numbers(message string, count int) (input, limit int) {
	number, limits := regexp.MustCompile(formNumber), regexp.MustCompile(formLimit)
	if m := regexp.MustCompile(formSum).FindStringSubmatch(message); m != nil {
		return atoi(m[1]), atoi(m[2])
	}
	for _, m := range append(limits.FindAllStringSubmatch(message, -1), regexp.MustCompile(formBefore).FindAllStringSubmatch(message, -1)...) {
		if n := atoi(m[1]); n >= leastLimit && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for _, m := range number.FindAllString(message, -1) {
		if n := atoi(m); n > limit && limit > 0 && n > input && count/farOff < n && n < count*farOff {
			input = n
		}
	}
	if m := regexp.MustCompile(formInput).FindStringSubmatch(message); m != nil {
		input = atoi(m[1])
	}
	return input, limit
}

const (
	// leastLimit is the smallest number that is taken for a window: no model has
	// one so small, but messages have other numbers.
	leastLimit = 256
	farOff     = 8
)

func atoi(s string) int {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(s))
	if err != nil {
		return 0
	}
	return n
}
