package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/bound"
)

const (
	// maxIgnored bounds the unwanted bytes from a server between two answers.
	maxIgnored = 64 << 20
	// maxGarbage bounds the bytes from a server that are no messages, such as a greeting on
	// its standard output.
	maxGarbage = 1 << 20
	// maxAsked bounds the unanswered requests of a server.
	maxAsked = 32
	// maxNotices bounds the unprocessed notices of changed lists. Further notices are
	// dropped, because they add no information.
	maxNotices = 4
)

// filter protects the client from floods of a server: the protocol's implementation has
// unbounded queues.
type filter struct {
	notices atomic.Int64 // unprocessed notices
	// progress receives a call's progress messages, without a queue, so that they precede
	// the call's result.
	progress func(*sdk.ProgressNotificationParams)

	mu       sync.Mutex // guards the fields below
	ignored  int        // bytes since the last answer, saturating
	garbage  int        // bytes, saturating
	requests int        // requests
}

// onProgress implements connection.
func (f *filter) onProgress(take func(*sdk.ProgressNotificationParams)) { f.progress = take }

// admit reports whether to pass a message on. An error is the violation that ends the
// connection.
func (f *filter) admit(m jsonrpc.Message) (bool, error) {
	if request, ok := m.(*jsonrpc.Request); ok && !request.IsCall() && request.Method == progressMethod {
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(request.Params, &p) == nil && f.progress != nil {
			f.progress(&p)
		}
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	request, ok := m.(*jsonrpc.Request)
	if !ok {
		f.ignored = 0
		f.notices.Store(0)
		return true, nil
	}
	if request.IsCall() {
		if f.requests++; f.requests > maxAsked {
			return false, fmt.Errorf("the server flooded: it asks for more than %d things at once", maxAsked)
		}
		return true, nil
	}
	switch {
	case (request.Method == changedMethod || request.Method == changedPrompts) && f.notices.Load() < maxNotices:
		f.notices.Add(1)
		return true, nil
	case request.Method == "notifications/cancelled" ||
		strings.HasPrefix(request.Method, "notifications/subscriptions/"):
		return true, nil
	}
	if f.ignored = bound.Add(f.ignored, len(request.Params)+len(request.Method)); f.ignored > maxIgnored {
		return false, fmt.Errorf("the server flooded: more than %d bytes of notifications", maxIgnored)
	}
	return false, nil
}

// The relevant notifications.
const (
	progressMethod = "notifications/progress"
	changedMethod  = "notifications/tools/list_changed"
	changedPrompts = "notifications/prompts/list_changed"
)

// handled reports that a changed list has been processed.
func (f *filter) handled() {
	if f.notices.Add(-1) < 0 {
		f.notices.Add(1) // a notice that did not pass admit
	}
}

// skip counts bytes that are no message.
func (f *filter) skip(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.garbage = bound.Add(f.garbage, len(line)+1); f.garbage > maxGarbage {
		return fmt.Errorf("the server sent what is no JSON-RPC, such as %q",
			clip(strings.ToValidUTF8(string(line), "\uFFFD"), 80))
	}
	return nil
}

// sent records the answer to a server's request.
func (f *filter) sent(m jsonrpc.Message) {
	if _, ok := m.(*jsonrpc.Response); !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = max(0, f.requests-1)
}

// decode reads a message or a batch of messages.
func decode(line []byte) (messages []jsonrpc.Message, err error) {
	defer func() {
		if v := recover(); v != nil { // caused by a server; the session continues
			err = fmt.Errorf("cannot read a message: %v", v)
		}
	}()
	batch := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &batch); err != nil {
			return nil, fmt.Errorf("cannot read a batch: %w", err)
		}
	}
	for _, raw := range batch {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("cannot read a message: %w", err)
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 {
		return nil, errors.New("cannot read a message: the batch is empty")
	}
	return messages, nil
}
