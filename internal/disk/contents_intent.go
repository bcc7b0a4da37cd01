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

// intent is the planned change of a call. Arguments is the hash of the call's arguments: in a
// copy of a session, another call can have its id.
type intent struct {
	Call      string          `json:"call"`
	Arguments string          `json:"arguments"`
	Files     json.RawMessage `json:"files"`
}

const (
	intentsName = "intents.jsonl"
	maxIntents  = 64 << 20
)

// Intend durably stores the planned change of a call.
func (s *ContentStore) Intend(call string, arguments []byte, files json.RawMessage) error {
	return s.IntendSum(call, Sum(arguments), files)
}

// IntendSum is Intend with the hash of the arguments.
func (s *ContentStore) IntendSum(call, arguments string, files json.RawMessage) error {
	line, err := json.Marshal(intent{call, arguments, files})
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
	_, err = f.Write(append([]byte{'\n'}, append(line, '\n')...)) // the first line end terminates a torn line
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && before != nil {
		err = SyncDir(s.dir)
	}
	return err
}

// Intents reads the planned changes of all calls. The returned function returns the plan of a
// call's last start; nil if it is unknown.
func (s *ContentStore) Intents() func(call string, arguments []byte) json.RawMessage {
	type key struct{ call, arguments string }
	last := map[key]json.RawMessage{}
	data, _, _ := Read(filepath.Join(s.dir, intentsName), maxIntents) // without it, all are unknown
	for line := range bytes.Lines(data) {
		var one intent
		if json.Unmarshal(line, &one) == nil {
			last[key{one.Call, one.Arguments}] = one.Files
		}
	}
	return func(call string, arguments []byte) json.RawMessage { return last[key{call, Sum(arguments)}] }
}

// copyIntents copies the planned changes to another store.
func (s *ContentStore) copyIntents(target *ContentStore) error {
	data, _, err := Read(filepath.Join(s.dir, intentsName), maxIntents)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(target.dir, 0o700)
	}
	if err == nil {
		err = ReplaceDurably(filepath.Join(target.dir, intentsName), data)
	}
	if err != nil {
		return fmt.Errorf("cannot copy what calls were about to do: %w", err)
	}
	return nil
}
