package history

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/family"
)

// response adds the items of one response, then the outputs of its calls.
func (w *walk) response(log Log, items []*event.Item, a *event.Attempt) {
	w.attempt = a
	lastCall := -1
	for n, i := range items {
		if isSent(i) && i.Type() == event.ToolCall {
			lastCall = n
		}
	}
	var list, outputs []model.Item
	firstCall := -1 // index in list
	for n, i := range items {
		if !isSent(i) {
			continue
		}
		c := i.Content()
		included := !w.refused.omitAnswers[i.Attempt]
		fits := included && (n < lastCall || lastCall < 0 || w.target.TextAfterCalls)
		switch c.Type {
		case event.Message:
			message := model.Item{Role: model.Assistant, Text: c.Text, ID: w.ownID(i), Signature: w.ownSignature(i)}
			switch {
			case !fits:
			case firstCall < 0 || w.target.TextAfterCalls:
				list = append(list, message)
			default: // text between calls precedes them
				list = slices.Insert(list, firstCall, message)
				firstCall++
			}
		case event.Reasoning:
			if w.target.ReasoningField && included && w.keepsField(i, items) || fits && w.keepsReasoning(items[n:]) {
				thought := model.Item{Role: model.Reasoning, Text: c.Text, ID: w.ownID(i), Signature: c.Signature}
				list = append(list, thought)
			}
		case event.ToolCall:
			call := model.Item{Role: model.Call, ID: w.ownID(i), CallID: w.callID(i), Signature: w.ownSignature(i)}
			call.Name, call.Arguments = w.call(i)
			if firstCall < 0 {
				firstCall = len(list)
			}
			list = append(list, call)
			outputs = append(outputs, model.Item{
				Role: model.Output, CallID: call.CallID, Name: call.Name,
				Text: w.output(log, i), Failed: i.Status != event.ItemCompleted,
			})
		}
	}
	w.fitOutputs(outputs)
	w.respond(append(list, outputs...))
}

// call returns the tool and the arguments of a call: unchanged for the model that made it (C21),
// under their own names for others.
func (w *walk) call(i *event.Item) (name, args string) {
	c := i.Content()
	if w.madeByTarget(i) {
		name, args = family.Replay(c.Name, c.Arguments, c.Sent)
	} else {
		name, args = family.Write(family.Family(w.target.Family), c.Name, c.Arguments)
	}
	if w.refused.omitArguments[i.Attempt] {
		args = foldedArguments
	}
	return toolName(name), arguments(args)
}

// output returns the output of a call for the model.
func (w *walk) output(log Log, i *event.Item) string {
	if w.refused.omitOutputs[i.Attempt] {
		return textNoOutput + jobsText(log.jobs, i.Content())
	}
	return changedText(i) + outputText(log.jobs, i)
}

// isSent reports whether the item is part of the conversation. A call with incomplete arguments
// is not.
func isSent(i *event.Item) bool {
	if i.Discarded {
		return false
	}
	switch c := i.Content(); c.Type {
	case event.Message:
		return !isBlank(c.Text)
	case event.Reasoning:
		return i.Status == event.ItemCompleted
	case event.ToolCall:
		return i.Ready
	}
	return false
}

// keepsField reports whether reasoning in a field of its response is sent: if another item of
// the response is.
func (w *walk) keepsField(i *event.Item, response []*event.Item) bool {
	c := i.Content()
	return w.madeByTarget(i) && (c.Signature != nil || !isBlank(c.Text)) &&
		slices.ContainsFunc(response, func(sibling *event.Item) bool {
			return sibling.Type() != event.Reasoning && isSent(sibling)
		})
}

// keepsReasoning reports whether the first reasoning of rest is sent: only to the model with its
// signature, and only with the item after it, if both are complete.
func (w *walk) keepsReasoning(rest []*event.Item) bool {
	c := rest[0].Content()
	if !w.madeByTarget(rest[0]) || c.Signature == nil {
		return false
	}
	for n, next := range rest[1:] {
		switch {
		case next.Type() == event.Reasoning:
			return isSent(next) && w.keepsReasoning(rest[n+1:]) // consecutive reasoning stays together
		case next.Status == event.ItemCompleted && next.Type() == event.Message && isBlank(next.Content().Text):
			continue // an empty message is not sent
		case next.Type() == event.ToolCall:
			return isSent(next) && w.keepsID(next)
		}
		return isSent(next) && next.Status == event.ItemCompleted
	}
	return false
}

// madeByTarget reports whether the request's model made the item and accepts its signature.
func (w *walk) madeByTarget(i *event.Item) bool {
	c := i.Content()
	if c.Provider == "" && c.Model == "" { // an incomplete item
		c.Provider, c.Model = w.attempt.Start.Provider, w.attempt.Start.Model
	}
	return c.Provider == w.target.Provider && c.Model == w.target.Model && !w.refused.omitReasoning[i.Attempt]
}

func (w *walk) ownID(i *event.Item) string {
	if !w.madeByTarget(i) {
		return ""
	}
	return i.Content().ProviderID
}

// ownSignature returns the provider signature of the item, for its own provider only.
func (w *walk) ownSignature(i *event.Item) *model.ProviderSignature {
	if !w.madeByTarget(i) {
		return nil
	}
	return i.Content().Signature
}

// callID returns the id of the call. Its own provider and model receive it unchanged, unless
// another call has the same id. All others receive an id from nineLetters.
func (w *walk) callID(i *event.Item) string {
	id := i.Content().CallID
	if !w.keepsID(i) {
		id = nineLetters(i.ID, w.ids)
	}
	w.ids[id] = true
	return id
}

func (w *walk) keepsID(i *event.Item) bool {
	id := i.Content().CallID
	return w.madeByTarget(i) && id != "" && !w.ids[id]
}

// nineLetters returns an id that every provider accepts, including Mistral, which requires nine
// letters and digits: the item's id after an "x" and zeros.
func nineLetters(item string, taken map[string]bool) string {
	for {
		digits := strings.TrimLeft(item, "i0")
		id := "x" + strings.Repeat("0", max(0, 8-len(digits))) + digits
		if len(id) == 9 && !taken[id] {
			return id
		}
		sum := sha256.Sum256([]byte(item))
		item = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:8]
	}
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) }) < 0
}

func nameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// toolName returns a name that providers accept.
func toolName(name string) string {
	if validName(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

// arguments returns a JSON object, as providers require: the model's arguments if they are one,
// else an object that quotes them.
func arguments(raw string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil && object != nil {
		return raw
	}
	if isBlank(raw) {
		return "{}"
	}
	return string(append(event.AppendString([]byte(`{"invalid_arguments":`), cut(raw, 2000)), '}'))
}

// cut returns at most n bytes of s, ending with a whole character, and states the number of
// omitted bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head := cutAt(s, n)
	return fmt.Sprintf("%s… [%d more bytes]", head, len(s)-len(head))
}
