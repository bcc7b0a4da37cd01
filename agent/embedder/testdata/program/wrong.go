//go:build wrong

package main

import "github.com/settle-agent/settle/event"

// A switch on what is no event does not compile.
func wrong(e event.Event) bool {
	switch e.Data.(type) {
	case event.Item:
		return true
	}
	return false
}
