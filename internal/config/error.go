package config

import (
	"fmt"
	"strings"
)

// Error is an unusable setting. The command line exits with 2.
type Error struct {
	// Where is the file with its line, the variable or the flag.
	Where string
	// Key is the setting in the spelling of a file; empty for the whole file.
	Key string
	// Message states the problem and the valid values.
	Message string
}

func (e *Error) Error() string {
	parts := []string{e.Where, e.Key, e.Message}
	if e.Key == "" || strings.HasPrefix(e.Where, "--") {
		parts = []string{e.Where, e.Message}
	}
	return strings.Join(parts, ": ")
}

// ModelError: no model was named, or the name is invalid. The command line exits with 2.
type ModelError struct {
	// Where is the origin of the name, as in [Error]; can be empty.
	Where   string
	Message string
	// Choices are valid models, as PROVIDER/NAME.
	Choices []string
	// Unset: no model was named, and no provider is ready.
	Unset bool
}

func (e *ModelError) Error() string {
	text := e.Message
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if len(e.Choices) > 0 {
		text += "; choices: " + strings.Join(e.Choices, ", ")
	}
	return text
}

// KeyError is a provider without a usable key.
type KeyError struct {
	Provider string
	Message  string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("cannot use provider %q: %s", e.Provider, e.Message)
}
