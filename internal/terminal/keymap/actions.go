package keymap

import "slices"

// Place is a part of the terminal in which a key has an action. A key has at most one action in
// each place.
type Place string

// The places.
const (
	Prompt Place = "prompt" // while a person writes a prompt
	Answer Place = "answer" // while a question waits, and the editor is empty
)

// The actions of keys.
const (
	Send             = "send"
	SendNow          = "send_now"
	Steer            = "steer"
	Queue            = "queue"
	Newline          = "newline"
	Interrupt        = "interrupt"
	Cancel           = "cancel"
	Quit             = "quit"
	Suspend          = "suspend"
	NextPermission   = "next_permission"
	Transcript       = "transcript"
	Plan             = "plan"
	Model            = "model"
	Effort           = "effort"
	LessEffort       = "less_effort"
	MoreEffort       = "more_effort"
	Copy             = "copy"
	ExternalEditor   = "external_editor"
	SearchPrompts    = "search_prompts"
	Withdraw         = "withdraw"
	Redraw           = "redraw"
	Help             = "help"
	Up               = "up"
	Down             = "down"
	Left             = "left"
	Right            = "right"
	WordLeft         = "word_left"
	WordRight        = "word_right"
	LineStart        = "line_start"
	LineEnd          = "line_end"
	DeleteLeft       = "delete_left"
	DeleteRight      = "delete_right"
	CutWordLeft      = "cut_word_left"
	CutWordRight     = "cut_word_right"
	CutLineStart     = "cut_line_start"
	CutLineEnd       = "cut_line_end"
	Paste            = "paste"
	PasteImage       = "paste_image"
	AllowOnce        = "allow_once"
	AllowSession     = "allow_session"
	EditCommand      = "edit_command"
	Deny             = "deny"
	DenyInstead      = "deny_instead"
	DenyExplain      = "deny_explain"
	defaultPreset    = "default"
	viPreset         = "vi"
	claudePreset     = "claude"
	codexPreset      = "codex"
	reservedKey      = "ctrl+c"
	maxFunctionKey   = 24
	keySeparator     = "+"
	configSeparators = "+-"
)

// Action is something that a key can do.
type Action struct {
	Name, About string
	Place       Place
	keys        []string // by default
}

// Actions returns all actions, in the order of the help.
func Actions() []Action {
	prompt := func(name, about string, keys ...string) Action { return Action{name, about, Prompt, keys} }
	answer := func(name, about string, keys ...string) Action { return Action{name, about, Answer, keys} }
	return []Action{
		prompt(Send, "send; while a turn runs, queue the input behind it", "enter"),
		prompt(SendNow, "send; while a turn runs, add the input to it, with its next request"),
		prompt(Steer, "while a turn runs: add the input to it, with its next request", "tab"),
		prompt(Queue, "while a turn runs: queue the input behind it"),
		prompt(Newline, "begin a new line", "shift+enter", "alt+enter", "ctrl+j"),
		prompt(Interrupt, "interrupt the turn; twice while nothing runs: go back to before an earlier input", "esc"),
		prompt(Cancel, "clear the editor; else interrupt; else, twice, quit", reservedKey),
		prompt(Quit, "quit, if the editor is empty; else delete a character", "ctrl+d"),
		prompt(Suspend, "suspend settle", "ctrl+z"),
		prompt(NextPermission, "change the permission mode: ask, accept edits, plan, read-only", "shift+tab"),
		prompt(Transcript, "show the whole transcript", "ctrl+t"),
		prompt(Plan, "show the model's plan"),
		prompt(Model, "choose the model"),
		prompt(Effort, "choose how much the model thinks"),
		prompt(LessEffort, "have the model think less"),
		prompt(MoreEffort, "have the model think more"),
		prompt(Copy, "copy the last answer"),
		prompt(ExternalEditor, "edit the text in $VISUAL or $EDITOR", "ctrl+g"),
		prompt(SearchPrompts, "search earlier prompts; again for an older one", "ctrl+r"),
		prompt(Withdraw, "move the last waiting input back into the editor", "alt+up"),
		prompt(Redraw, "redraw the screen", "ctrl+l"),
		prompt(Help, "with an empty editor: show commands and keys", "?"),
		prompt(Up, "move up a line; beyond the first, earlier prompts", "up"),
		prompt(Down, "move down a line; beyond the last, later prompts", "down"),
		prompt(Left, "move left", "left", "ctrl+b"),
		prompt(Right, "move right", "right", "ctrl+f"),
		prompt(WordLeft, "move left by a word", "alt+b", "ctrl+left", "alt+left"),
		prompt(WordRight, "move right by a word", "alt+f", "ctrl+right", "alt+right"),
		prompt(LineStart, "move to the line's start", "ctrl+a", "home"),
		prompt(LineEnd, "move to the line's end", "ctrl+e", "end"),
		prompt(DeleteLeft, "delete the character before the cursor", "backspace", "shift+backspace", "ctrl+h"),
		prompt(DeleteRight, "delete the character after the cursor", "delete"),
		prompt(CutWordLeft, "cut the word before the cursor", "ctrl+w", "alt+backspace", "ctrl+backspace"),
		prompt(CutWordRight, "cut the word after the cursor", "alt+d"),
		prompt(CutLineStart, "cut to the line's start", "ctrl+u"),
		prompt(CutLineEnd, "cut to the line's end", "ctrl+k"),
		prompt(Paste, "paste the cut text", "ctrl+y"),
		prompt(PasteImage, "paste the image in the clipboard", "ctrl+v"),
		answer(AllowOnce, "answer a question: allow once", "y"),
		answer(AllowSession, "answer a question: allow for the session", "s"),
		answer(EditCommand, "answer a question: edit the command, then run it", "tab"),
		answer(Deny, "answer a question: deny", "n"),
		answer(DenyInstead, "answer a question: deny, and say what to do instead", "i"),
		answer(DenyExplain, "answer a question: deny for now, and have the effects explained", "e"),
	}
}

// Presets returns the names of the presets, the default first.
func Presets() []string { return []string{defaultPreset, viPreset, claudePreset, codexPreset} }

// changes returns the keys of a preset that differ from the default. An action that the other
// program does not have keeps its key. The sources, read in November 2026:
// code.claude.com/docs/en/keybindings, and built_in_defaults in codex-rs/tui/src/keymap.rs.
func changes(preset string) map[string][]string {
	switch preset {
	case claudePreset:
		return map[string][]string{
			Send: nil, SendNow: {"enter"}, Steer: nil, Queue: {"tab"},
			Transcript: {"ctrl+o"}, Plan: {"ctrl+t"}, Model: {"alt+p"}, Effort: {"alt+t"},
			Newline: {"ctrl+j", "shift+enter", "alt+enter"},
		}
	case codexPreset:
		return map[string][]string{
			Send: nil, SendNow: {"enter"}, Steer: nil, Queue: {"tab"},
			Copy: {"ctrl+o"}, LessEffort: {"alt+,"}, MoreEffort: {"alt+."},
			Newline:  {"ctrl+j", "shift+enter", "alt+enter"},
			Withdraw: {"alt+up", "shift+left"},
			Up:       {"up", "ctrl+p"}, Down: {"down", "ctrl+n"},
			DeleteRight:  {"delete", "shift+delete"},
			CutWordLeft:  {"alt+backspace", "ctrl+backspace", "ctrl+shift+backspace", "ctrl+w", "ctrl+alt+h"},
			CutWordRight: {"alt+delete", "ctrl+delete", "ctrl+shift+delete", "alt+d"},
			AllowSession: {"a"}, Deny: {"n", "d"},
		}
	}
	return nil
}

// named returns the action with the name.
func named(name string) (Action, bool) {
	all := Actions()
	if n := slices.IndexFunc(all, func(a Action) bool { return a.Name == name }); n >= 0 {
		return all[n], true
	}
	return Action{}, false
}

// Names returns the names of all actions.
func Names() (names []string) {
	for _, a := range Actions() {
		names = append(names, a.Name)
	}
	return names
}
