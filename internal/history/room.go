package history

import (
	"fmt"

	"github.com/settle-agent/settle/model"
)

const (
	// bytesPerToken is on the low side of what tokenisers give for code.
	bytesPerToken = 3
	// tokensPerItem and tokensPerImage are what an entry costs beside its text.
	tokensPerItem, tokensPerImage = 8, 1600
	// trimStep is how many outputs are trimmed at a time: trimming changes
	// the beginning of the request, and each change costs the prompt cache.
	trimStep = 8
	// trimmedHead is how many bytes of a trimmed output stay, and trimmedInput
	// of each end of an input.
	trimmedHead, trimmedInput = 400, 4 << 10
	// leastOutput is the least room for an answer that is worth asking for.
	leastOutput = 1024
)

// fit shortens the outputs of the oldest calls, and then the oldest inputs, until
// the request leaves room for an answer, and clamps the answer to that room. The
// latest input stays whole: where it alone is too long, that is for the provider
// to say, once, and not of every later request.
func (b *Built) fit(target Target) {
	b.Tokens = estimate(b.Request)
	if target.Window > 0 {
		room := target.Window - answer(target)
		for _, n := range trimmable(b.Input) {
			if b.Tokens <= room && b.Trimmed%trimStep == 0 {
				break
			}
			b.shorten(n, trim(b.Input[n].Text))
		}
		for _, n := range long(b.Input) {
			if b.Tokens <= room {
				break
			}
			b.shorten(n, trimInput(b.Input[n].Text))
		}
	}
	b.MaxTokens = target.MaxOutput
	if target.Window > 0 && target.MaxOutput > 0 {
		b.MaxTokens = min(target.MaxOutput, max(target.Window-b.Tokens, leastOutput))
	}
}

func (b *Built) shorten(n int, text string) {
	before := tokens(b.Input[n])
	b.Input[n].Text = text
	b.Tokens -= before - tokens(b.Input[n])
	b.Trimmed++
}

// answer is how much of the window is kept free for the answer.
func answer(target Target) int {
	free := target.Window / 4
	if target.MaxOutput > 0 {
		free = min(free, target.MaxOutput)
	}
	return free
}

// trimmable returns the places of the outputs that may be shortened, oldest
// first: those that are long, and not of the response that the model has not
// seen the outputs of yet.
func trimmable(items []model.Item) []int {
	end := len(items)
	for end > 0 && items[end-1].Role != model.Call {
		end--
	}
	var out []int
	for n, i := range items[:end] {
		if i.Role == model.Output && len(i.Text) > 2*trimmedHead {
			out = append(out, n)
		}
	}
	return out
}

// long returns the places of the inputs that may be shortened, oldest first.
func long(items []model.Item) []int {
	var out []int
	latest := -1
	for n, i := range items {
		if i.Role != model.User {
			continue
		}
		if latest >= 0 && len(items[latest].Text) > 3*trimmedInput {
			out = append(out, latest)
		}
		latest = n
	}
	return out
}

func trimInput(text string) string {
	head := cutAt(text, trimmedInput)
	tail := text[len(text)-trimmedInput:]
	for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[%d bytes of this message were left out here to make room]\n%s", head, len(text)-len(head)-len(tail), tail)
}

func trim(text string) string {
	head := cutAt(text, trimmedHead)
	return fmt.Sprintf("%s\n[%d more bytes of this output were left out to make room; make the call again if you need them]",
		head, len(text)-len(head))
}

// cutAt returns at most n bytes of s, ending with a whole character.
func cutAt(s string, n int) string {
	for n > 0 && n < len(s) && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:min(n, len(s))]
}

func estimate(r model.Request) int {
	n := (len(r.System) + len(r.Schema)) / bytesPerToken
	for _, t := range r.Tools {
		n += tokensPerItem + (len(t.Name)+len(t.Description)+len(t.Schema)+len(t.Grammar))/bytesPerToken
	}
	for _, i := range r.Input {
		n += tokens(i)
	}
	return n
}

func tokens(i model.Item) int {
	n := tokensPerItem + tokensPerImage*len(i.Images)
	n += (len(i.Text) + len(i.Name) + len(i.Arguments)) / bytesPerToken
	if i.Seal != nil {
		n += len(i.Seal.Data) / bytesPerToken
	}
	return n
}
