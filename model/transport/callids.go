package transport

import (
	"strconv"

	"github.com/settle-agent/settle/model"
)

// CallIDs makes ids for the calls of servers that send none. They count on
// from the calls of the conversation, so that they are unique in it and the
// same whenever the request is.
type CallIDs struct {
	used map[string]bool
	n    int
}

// NewCallIDs counts the calls of the conversation.
func NewCallIDs(items []model.Item) *CallIDs {
	ids := &CallIDs{used: map[string]bool{}}
	for _, item := range items {
		if item.Role == model.Call {
			ids.used[item.CallID] = true
			ids.n++
		}
	}
	return ids
}

// Take takes an id that the server made, and reports whether it is new.
func (ids *CallIDs) Take(id string) bool {
	if ids.used[id] {
		return false
	}
	ids.used[id] = true
	return true
}

// Next makes an id.
func (ids *CallIDs) Next() string {
	for {
		ids.n++
		id := "call_" + strconv.Itoa(ids.n)
		if !ids.used[id] {
			ids.used[id] = true
			return id
		}
	}
}
