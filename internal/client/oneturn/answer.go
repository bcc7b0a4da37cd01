package oneturn

import (
	"errors"
	"fmt"
	"os"

	"github.com/settle-agent/settle/internal/disk"
)

// AnswerFile returns a function that writes the final answer into a file. AnswerFile checks
// at once that the file is writable, before any request to a model; an existing file keeps
// its content until then. A pipe must already have a reader.
func AnswerFile(path string) (keep func(text string) error, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|disk.NonBlocking, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot write the answer: %w", err)
	}
	return func(text string) error {
		err := f.Truncate(0)
		if info, statErr := f.Stat(); statErr == nil && !info.Mode().IsRegular() {
			err = nil // /dev/stderr and the like have no length
		}
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("cannot write the answer to %q: %w; it is in the session", path, err)
		}
		return nil
	}, nil
}
