package history

import (
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
	if sent.Tokens > sent.Least+leastGain(sent.Least) || sent.asksMuch(window) {
		r.Again, r.Note = true, "asking again with a shorter history"
		return r
	}
	r.Note = fmt.Sprintf("the message is too long for the model, with about %d tokens. It stays in the log; later requests have its beginning and its end. "+
		"Send a shorter one, or put the text into a file and name that; the session goes on", sent.Least)
	return r
}

// leastGain is by how much a request must get shorter to be worth another try.
func leastGain(tokens int) int { return tokens/16 + 2*tokensPerItem }

// asksMuch reports whether it may be the room for the answer that is too much.
func (sent Sent) asksMuch(window int) bool {
	next := answer(window, sent.Answer, sent.Tokens)
	return sent.Answer*8 > sent.Tokens && next < sent.Answer-sent.Answer/16
}

// window estimates what the model holds, output included, from what it said of
// the request: in tokens as we count them, which may not be the provider's. Where
// it names no numbers, it is taken to be half.
func (sent Sent) window(message string) int {
	all := sent.Tokens + sent.Answer
	asked, limit := numbers(message, all)
	switch {
	case asked == 0 && 0 < limit && limit < sent.Tokens:
		return limit - limit/10
	case asked == 0 && sent.Answer > sent.Tokens: // that may be it
		return sent.Tokens + sent.Answer/2
	case asked == 0:
		return max(all/2, 1)
	}
	// A tenth is for what differs from text to text.
	window := max(int(float64(all)*float64(limit)/float64(asked)*0.9), 1)
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
	formSum    = `(\d+) \+ (\d+) > (\d+)`
	formLimit  = `(?i)(?:maximum (?:context |input |prompt )?length(?: is| of)?|maximum number of (?:input )?tokens(?: allowed)?` +
		`|context (?:window|size|length|limit)(?: is| of)?|limit(?: is| of)?|cannot exceed|exceeds?|at most|up to|>)[ (:]*(\d[\d,_]*)`
	formBefore = `(?i)(\d[\d,_]*) (?:maximum|tokens? (?:maximum|limit))`
)

// numbers returns what is allowed, and what was asked for, as the message has
// them; 0 where it does not say. A number that is far from our own count is
// something else, such as an id.
func numbers(message string, count int) (asked, limit int) {
	number, limits := regexp.MustCompile(formNumber), regexp.MustCompile(formLimit)
	if m := regexp.MustCompile(formSum).FindStringSubmatch(message); m != nil {
		return atoi(m[1]) + atoi(m[2]), atoi(m[3])
	}
	for _, m := range append(limits.FindAllStringSubmatch(message, -1), regexp.MustCompile(formBefore).FindAllStringSubmatch(message, -1)...) {
		if n := atoi(m[1]); n >= leastLimit && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for _, m := range number.FindAllString(message, -1) {
		if n := atoi(m); n > limit && limit > 0 && n > asked && count/farOff < n && n < count*farOff {
			asked = n
		}
	}
	return asked, limit
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
