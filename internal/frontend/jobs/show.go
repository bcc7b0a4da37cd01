package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal"
)

// Form is the form in which an output is shown.
type Form string

// The forms.
const (
	// Raw shows it byte by byte, for programs and files.
	Raw Form = "raw"
	// Safe makes it fit for a terminal: control characters are shown, not
	// obeyed.
	Safe Form = "safe"
)

// Kill ends a job and reports the processes that it ended.
func Kill(ctx context.Context, to io.Writer, dataDir, name string) error {
	j, ended, err := store.KillJob(ctx, dataDir, name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "ended job %s: %s\n", j.Name(), store.ProcessNames(ended))
	return err
}

// Show writes the job's output so far.
func Show(to io.Writer, dataDir, name string, form Form) error {
	j, err := store.FindJob(dataDir, name)
	if err != nil {
		return err
	}
	if j.Log == "" {
		return fmt.Errorf("job %s has no output log", j.Name())
	}
	file, _, err := disk.OpenRegular(j.Log)
	if err != nil {
		return fmt.Errorf("cannot show the output of job %s: %w", j.Name(), err)
	}
	defer func() { _ = file.Close() }() // it was only read
	if form == Safe {
		return showSafe(to, file)
	}
	_, err = io.Copy(to, file)
	return err
}

// showSafe goes line by line, so that no character is cut in two.
func showSafe(to io.Writer, from io.Reader) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		part, err := lines.ReadSlice('\n')
		if _, failed := io.WriteString(to, terminal.Text(string(part))); failed != nil {
			return failed
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
