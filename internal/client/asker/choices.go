package asker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// Choice is an answer that a person can choose. Its number and its letter mean the same in the terminal,
// in plain mode and in "settle run": "no" is always 3.
type Choice struct {
	Number int
	// Action is the action of the answer's key, by package keymap; empty for none. Letter is the key in
	// frontends whose answers are lines; empty for none.
	Action, Letter string
	Words          string
	// Permission is the mode in which the work on an accepted plan begins.
	Permission string
}

// The numbers of answers that not every question has.
const (
	NumberStop  = 6 // stop the turn, or decide later
	NumberEdit  = 7 // edit the command or the plan
	NumberOther = 8
)

// String returns the choice in one line: "3 deny (n)".
func (c Choice) String() string {
	if c.Letter == "" {
		return fmt.Sprint(c.Number, " ", c.Words)
	}
	return fmt.Sprintf("%d %s (%s)", c.Number, c.Words, c.Letter)
}

// Choices returns the answers to a question, in the order of their numbers. stops reports that the person
// can stop the turn. A question of the model has other answers; a form has to be filled in.
func Choices(a event.ApprovalRequested, stops bool) (all []Choice) {
	switch {
	case a.Form != nil:
		words := "fill it in"
		if a.Form.URL != "" {
			words = "I have opened it"
		}
		all = []Choice{
			{1, keymap.AllowOnce, "y", words, ""},
			{3, keymap.Deny, "n", "decline", ""},
		}
	case IsPlan(a):
		modes := event.PlanModes()
		all = []Choice{
			{1, keymap.AllowOnce, "y", event.PlanWords(modes[0]), modes[0]},
			{2, keymap.AllowSession, "s", event.PlanWords(modes[1]), modes[1]},
			{3, keymap.Deny, "n", "reject the plan", ""},
			{4, keymap.DenyInstead, "i", "say what to change", ""},
			{5, "", "a", event.PlanWords(modes[2]), modes[2]},
		}
	default:
		all = []Choice{{1, keymap.AllowOnce, "y", event.Approved.Words(), ""}}
		if !a.Once {
			all = append(all, Choice{2, keymap.AllowSession, "s", event.ApprovedSession.Words(), ""})
		}
		all = append(all,
			Choice{3, keymap.Deny, "n", event.Denied.Words(), ""},
			Choice{4, keymap.DenyInstead, "i", event.Denied.Words() + ", and say what to do instead", ""},
			Choice{5, keymap.DenyExplain, "e", event.ExplainTerm().Words, ""},
		)
	}
	if stops {
		all = append(all, Choice{NumberStop, keymap.Interrupt, "", event.ApprovalAborted.Words(), ""})
	}
	return all
}

// Choose returns the choice that a line names by its number, its letter or its word ("yes", "no",
// "session"), and the words behind it. Only answers that tell the model something take words. A
// sentence that begins with "no" is a message as a whole, and one that begins with a letter in upper
// case ("I think …") names no choice.
func Choose(choices []Choice, line string) (c Choice, words string, ok bool) {
	line = strings.TrimSpace(line)
	first, words, _ := strings.Cut(line, " ")
	name, words := strings.ToLower(first), strings.TrimSpace(words)
	switch {
	case words == "":
	case name == "no":
		words = line
	case name != first:
		return Choice{}, "", false
	}
	letters := map[string]string{"yes": "y", "no": "n", "session": "s"}
	if letter, isWord := letters[name]; isWord {
		name = letter
	}
	for _, c := range choices {
		if name != fmt.Sprint(c.Number) && (name != c.Letter || c.Letter == "") {
			continue
		}
		return c, words, words == "" || c.takesWords(choices)
	}
	return Choice{}, "", false
}

func (c Choice) takesWords(choices []Choice) bool {
	return c.NeedsWords() || c.Action == keymap.Deny && slices.ContainsFunc(choices, Choice.NeedsWords)
}

// Answer returns the answer of a choice with its words.
func (c Choice) Answer(words string) Answer {
	switch c.Action {
	case keymap.Deny, keymap.DenyInstead:
		return Answer{Verdict: event.Denied, Message: words}
	case keymap.DenyExplain:
		return Answer{Verdict: event.Denied, Explain: true}
	case keymap.Interrupt:
		return Answer{Verdict: event.ApprovalAborted}
	case keymap.AllowSession:
		if c.Permission == "" {
			return Answer{Verdict: event.ApprovedSession}
		}
	}
	return Answer{Verdict: event.Approved, Permission: c.Permission}
}

// NeedsWords reports whether the choice is no answer without words.
func (c Choice) NeedsWords() bool { return c.Action == keymap.DenyInstead }
