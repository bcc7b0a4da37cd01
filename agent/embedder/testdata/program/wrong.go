//go:build wrong

package main

import "github.com/settle-agent/settle/event"

// wrong does not compile: its type switch has a type that is not an event.
func wrong(e event.Event) bool {
	switch e.Data.(type) {
	case event.Item:
		return true
	}
	return false
}
