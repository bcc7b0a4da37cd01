package chat

import (
	"strconv"

	"github.com/settle-agent/settle/model"
)

// callIDs makes ids for the calls of servers that send none. They count on
// from the calls of the conversation, so that they are unique in it and the
// same whenever the request is.
type callIDs struct {
	used map[string]bool
	n    int
}

func newCallIDs(items []model.Item) *callIDs {
	ids := &callIDs{used: map[string]bool{}}
	for _, item := range items {
		if item.Role == model.Call {
			ids.used[item.CallID] = true
			ids.n++
		}
	}
	return ids
}

func (ids *callIDs) next() string {
	for {
		ids.n++
		id := "call_" + strconv.Itoa(ids.n)
		if !ids.used[id] {
			ids.used[id] = true
			return id
		}
	}
}
