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

// overflow handles a request that is too long for the model. It records the estimated window, so
// that all later requests stay below. Documents yield before that if they are most of the request,
// or if nothing else can be left out: their text is shorter.
func (stats RequestStats) overflow(s event.State, target Target, fault *model.Error) Remedy {
	window := stats.window(fault.Message)
	r := Remedy{Change: &event.HistoryChanged{
		Change: event.ChangeWindow, Provider: target.Provider, Model: target.Model, Tokens: window,
		Why: fmt.Sprintf("the provider says that about %d tokens are too many", stats.Tokens),
	}}
	shorter := stats.Tokens > stats.Minimum+minGain(stats.Minimum) &&
		!cannotFit(stats.Minimum, min(window, cmp.Or(stats.Window, window)))
	if stats.Documents > 0 && (!shorter || stats.Documents > stats.Tokens/2) {
		return omitDocuments(s, target)
	}
	if shorter || stats.asksMuch(window) {
		r.Retry, r.Note = true, "asking again with a shorter history"
		if !shorter {
			r.Note = "asking again for a shorter answer"
		}
		return r
	}
	r.Note = stats.tooLong()
	return r
}

// omitDocuments sends the text of all documents instead. It does not lower the window: how many
// tokens a page has is a guess.
func omitDocuments(s event.State, target Target) Remedy {
	return Remedy{
		Change: &event.HistoryChanged{
			Change: event.ChangeLeftOut, Provider: target.Provider, Model: target.Model,
			LeftOut: leaveOut(refusalsOf(target, LogOf(s)).leftOut(), event.PartDocuments),
			Why:     "the request was too long; left out of the history: " + textOfDocuments,
		},
		Retry: true, Note: "asking again without " + textOfDocuments,
	}
}

// tooLong describes for a person which part is too long, if nothing can be left out.
func (stats RequestStats) tooLong() string {
	if stats.Minimum-stats.Fixed < stats.Minimum/4 {
		return fmt.Sprintf(
			"the instructions and the tools alone are too long for the model, with about %d tokens. The session is kept; "+
				"choose a model with a larger window, or fewer tools",
			stats.Fixed,
		)
	}
	if stats.Attached {
		return fmt.Sprintf(
			"the message and the text of its PDFs are too long for the model, with about %d tokens. Later requests "+
				"have their beginning and their end. Attach fewer pages, or name a PDF in the working directory "+
				"without attaching it: the model then reads it by page; you can continue the session",
			stats.Minimum-stats.Fixed,
		)
	}
	return fmt.Sprintf(
		"the message is too long for the model, with about %d tokens. It stays in the log; later requests have its beginning and its end. "+
			"Send a shorter one, or put the text in a file and name that file; you can continue the session",
		stats.Minimum-stats.Fixed,
	)
}

// minGain is the smallest useful reduction of a request, in tokens.
func minGain(tokens int) int { return tokens/16 + 2*tokensPerItem }

// cannotFit reports whether a request is too long even without history, and even if we count
// twice the provider's tokens. Its history is not shortened then.
func cannotFit(minimum, window int) bool { return minimum > 2*window }

// requestedOutput is the requested output in tokens. Wire formats have defaults, so that it can
// be an assumption.
func (stats RequestStats) requestedOutput() int { return cmp.Or(stats.Answer, defaultOutput) }

// asksMuch reports whether the requested output can be the cause.
func (stats RequestStats) asksMuch(window int) bool {
	next := answer(window, stats.requestedOutput(), stats.Tokens)
	return stats.requestedOutput()*8 > stats.Tokens && next < stats.requestedOutput()-stats.requestedOutput()/16
}

// window estimates the model's window, including output, from the message of its refusal, in our
// tokens. A message without numbers halves the request's length.
func (stats RequestStats) window(message string) int {
	input, limit := numbers(message, stats.Tokens+stats.Answer)
	switch {
	case input == 0 && 0 < limit && limit < stats.Tokens:
		return limit - limit/10
	case input == 0 && stats.requestedOutput() > stats.Tokens: // the output can be the cause
		return stats.Tokens + stats.requestedOutput()/2
	case input == 0:
		return max((stats.Tokens+stats.requestedOutput())/2, 1)
	}
	// A tenth allows for differences between texts.
	window := max(int(float64(limit)*min(1, float64(stats.Tokens)/float64(input))*0.9), 1)
	if withOutput(message) {
		return window
	}
	return min(window, stats.Tokens)
}

// withOutput reports whether the message counts the output too.
func withOutput(message string) bool {
	return strings.Contains(message, "max_tokens") || strings.Contains(message, "max_completion_tokens") ||
		strings.Contains(message, "in the completion")
}

// The forms of numbers in the messages of providers.
const (
	formNumber = `\d[\d,_]*`
	formSum    = `(\d+) \+ \d+ > (\d+)`
	formInput  = `\((\d+) in the messages`
	formLimit  = `(?i)(?:maximum (?:context |input |prompt )?length(?: is| of)?|maximum number of (?:input )?tokens(?: allowed)?` +
		`|context (?:window|size|length|limit)(?: is| of)?|limit(?: is| of)?|cannot exceed|exceeds?|at most|up to|>)[ (:]*(\d[\d,_]*)`
	formBefore = `(?i)(\d[\d,_]*) (?:maximum|tokens? (?:maximum|limit))`
)

// numbers returns the input's count and the limit in the message; 0 if they are missing. A
// number far from our own count is something else, such as an id.
func numbers(message string, count int) (input, limit int) {
	number, limits := regexp.MustCompile(formNumber), regexp.MustCompile(formLimit)
	if m := regexp.MustCompile(formSum).FindStringSubmatch(message); m != nil {
		return parseNumber(m[1]), parseNumber(m[2])
	}
	for _, m := range append(limits.FindAllStringSubmatch(message, -1), regexp.MustCompile(formBefore).FindAllStringSubmatch(message, -1)...) {
		if n := parseNumber(m[1]); n >= minLimit && (limit == 0 || n < limit) {
			limit = n
		}
	}
	for _, m := range number.FindAllString(message, -1) {
		if n := parseNumber(m); n > limit && limit > 0 && n > input && count/maxNumberRatio < n &&
			n < count*maxNumberRatio {
			input = n
		}
	}
	if m := regexp.MustCompile(formInput).FindStringSubmatch(message); m != nil {
		input = parseNumber(m[1])
	}
	return input, limit
}

const (
	// minLimit is the smallest number that counts as a window: messages contain other numbers,
	// and no model has a smaller window.
	minLimit       = 256
	maxNumberRatio = 8
)

func parseNumber(s string) int {
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(s))
	if err != nil {
		return 0
	}
	return n
}
