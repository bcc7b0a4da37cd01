package oneturn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	// firstTimeout bounds the wait of a run with a prompt for the first byte of its standard input;
	// idleTimeout applies to each further byte. A caller may leave standard input open and unused,
	// which must not block the run forever. A "-" beside the prompt announces input.
	firstTimeout = 500 * time.Millisecond
	idleTimeout  = 2 * time.Second
	// maxInput bounds the input in bytes.
	maxInput = 8 << 20
)

// UsageError is a mistake in how the command was called.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Prompt builds the prompt from the arguments and standard input. The argument "-", or no argument,
// is replaced by the input; beside a prompt, the input is context. terminal reports that standard
// input is a terminal, which Prompt does not read. bare reports that a pipe beside the prompt ended
// without a byte.
func Prompt(ctx context.Context, args []string, stdin *os.File, terminal bool) (text string, bare bool, err error) {
	var words []string
	wanted := len(args) == 0
	for _, arg := range args {
		if arg == "-" {
			wanted = true
			continue
		}
		words = append(words, arg)
	}
	prompt := trimmed(strings.Join(words, " "))
	if terminal && prompt == "" && len(args) == 0 {
		return "", false, &UsageError{"there is no prompt: give one as an argument, or pipe it in"}
	}
	if terminal && !wanted {
		return prompt, false, nil
	}
	input, bare, err := readInput(ctx, stdin, prompt != "" && !wanted)
	if err != nil {
		return "", false, err
	}
	switch {
	case prompt == "" && input == "":
		return "", false, &UsageError{"the prompt is empty"}
	case prompt == "":
		return input, false, nil
	case input == "":
		return prompt, bare, nil
	}
	return prompt + "\n\n<stdin>\n" + input + "\n</stdin>", false, nil
}

// readInput reads standard input to its end, or, if it may be idle, as far as
// it comes. bare reports that it is a pipe, and ended without a byte.
func readInput(ctx context.Context, stdin *os.File, mayIdle bool) (text string, bare bool, err error) {
	chunks := make(chan []byte)
	failed := make(chan error, 1)
	go func() { // ends with the input, or with the process if nothing comes
		failed <- pumpInput(ctx, stdin, chunks)
	}()
	patient := time.NewTimer(firstTimeout)
	defer patient.Stop()
	idle := patient.C
	info, err := stdin.Stat()
	if !mayIdle || err == nil && info.Mode().IsRegular() {
		idle = nil
	}
	isPipe := err == nil && info.Mode()&fs.ModeNamedPipe != 0
	var all bytes.Buffer
	for {
		select {
		case chunk := <-chunks:
			all.Write(chunk)
			if idle != nil {
				patient.Reset(idleTimeout)
			}
			if all.Len() > maxInput {
				return "", false, &UsageError{
					fmt.Sprintf(
						"standard input is longer than %d bytes: put it in a file and name that file in the prompt",
						maxInput,
					),
				}
			}
		case err := <-failed:
			text, err = inputText(all.Bytes(), err)
			return text, isPipe && all.Len() == 0, err
		case <-idle:
			text, err = inputText(all.Bytes(), nil)
			return text, false, err
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		}
	}
}

func pumpInput(ctx context.Context, from io.Reader, chunks chan<- []byte) error {
	for {
		buf := make([]byte, 64<<10)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case chunks <- buf[:n]:
			case <-ctx.Done():
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

func inputText(raw []byte, err error) (string, error) {
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EBADF) && !errors.Is(err, fs.ErrClosed):
		return "", fmt.Errorf("cannot read standard input: %w", err)
	case bytes.IndexByte(raw, 0) >= 0:
		return "", &UsageError{"standard input is not text: put it in a file and name that file in the prompt"}
	}
	return trimmed(strings.ToValidUTF8(string(raw), "\uFFFD")), nil
}

// trimmed returns the text without empty lines before it and space behind it. A space at the beginning
// stays: before a slash it means that the text calls no command.
func trimmed(text string) string {
	return strings.TrimRightFunc(strings.TrimLeft(text, "\r\n"), unicode.IsSpace)
}
