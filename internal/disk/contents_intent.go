package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// intent is what a call is about to do. Arguments is the hash of the call's: in a copy of
// a session, another call may have its id.
type intent struct {
	Call      string          `json:"call"`
	Arguments string          `json:"arguments"`
	Files     json.RawMessage `json:"files"`
}

const (
	intentsName = "intents.jsonl"
	mostIntents = 64 << 20
)

// Intend keeps what a call is about to do. When it returns nil, that is durable.
func (s *ContentStore) Intend(call string, arguments []byte, files json.RawMessage) error {
	line, err := json.Marshal(intent{call, Sum(arguments), files})
	if err != nil {
		return fmt.Errorf("cannot keep what a call is about to do: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot keep what a call is about to do: %w", err)
	}
	path := filepath.Join(s.dir, intentsName)
	_, before := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot keep what a call is about to do: %w", err)
	}
	_, err = f.Write(append([]byte{'\n'}, append(line, '\n')...)) // a line that was torn ends there
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && before != nil {
		err = SyncDir(s.dir)
	}
	return err
}

// Intended returns what a call was about to do when it last began to; nil if that is
// not known.
func (s *ContentStore) Intended(call string, arguments []byte) json.RawMessage {
	data, _, err := Read(filepath.Join(s.dir, intentsName), mostIntents)
	if err != nil {
		return nil
	}
	sum := Sum(arguments)
	var last json.RawMessage
	for line := range bytes.Lines(data) {
		var one intent
		if json.Unmarshal(line, &one) == nil && one.Call == call && one.Arguments == sum {
			last = one.Files
		}
	}
	return last
}

// copyIntents has another store know what this one does.
func (s *ContentStore) copyIntents(other *ContentStore) error {
	data, _, err := Read(filepath.Join(s.dir, intentsName), mostIntents)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(other.dir, 0o700)
	}
	if err == nil {
		err = ReplaceDurably(filepath.Join(other.dir, intentsName), data)
	}
	if err != nil {
		return fmt.Errorf("cannot copy what calls were about to do: %w", err)
	}
	return nil
}
