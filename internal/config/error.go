package config

import (
	"fmt"
	"strings"
)

// Error is a setting that cannot be used. The command line exits with 2.
type Error struct {
	// Where is the file with its line, the variable or the flag.
	Where string
	// Key is the setting as a file spells it; empty for the file as a whole.
	Key string
	// Message says what is wrong and what would be right.
	Message string
}

func (e *Error) Error() string {
	parts := []string{e.Where, e.Key, e.Message}
	if e.Key == "" || strings.HasPrefix(e.Where, "--") {
		parts = []string{e.Where, e.Message}
	}
	return strings.Join(parts, ": ")
}

// ModelError is a model that was not named, or cannot be. The command line
// exits with 2.
type ModelError struct {
	Message string
	// Choices are models that could be named, as PROVIDER/NAME.
	Choices []string
}

func (e *ModelError) Error() string {
	if len(e.Choices) == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s; choices: %s", e.Message, strings.Join(e.Choices, ", "))
}

// KeyError is a provider without a usable key.
type KeyError struct {
	Provider string
	// Variable is the one to set, if there is one.
	Variable string
	Message  string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("cannot use provider %q: %s", e.Provider, e.Message)
}
