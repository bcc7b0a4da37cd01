package workspace

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

var (
	//go:embed prelude.sh
	prelude string
	//go:embed look.sh
	lookScript string
	//go:embed clone.sh
	cloneScript string
	//go:embed checkpoint.sh
	checkpointScript string
)

const (
	// pieceBytes is the number of bytes of a bundle that are sent or stored at a time.
	pieceBytes = 1 << 20
	// maxHeader bounds the first line that a script puts out.
	maxHeader = 8 << 10
	// stopTimeout bounds the end of a script.
	stopTimeout = 5 * time.Second
)

// script is a run of one of the scripts.
type script struct {
	text string
	dir  string // first directory; the script changes to W_DIR
	env  []string
	// input is its standard input; nil is none. maxData is the maximum number of bytes after the first
	// line of its output.
	input   []byte
	maxData int64
}

// scriptError is the failure that a script reports, with its reason.
type scriptError struct{ reason string }

func (e *scriptError) Error() string { return e.reason }

// run runs the script on a machine, and returns the first line of its output and the data
// after it.
func (s script) run(ctx context.Context, h executor.Executor) (detail string, data []byte, err error) {
	out := &output{maxData: s.maxData}
	c := executor.Command{Script: prelude + s.text, Dir: s.dir, Env: s.env, Output: out}
	if s.input != nil {
		c.Input = proc.PipeInput
	}
	p, err := h.Start(ctx, c)
	if err != nil {
		return "", nil, err
	}
	inputDone := make(chan struct{})
	// It ends with the command, whose input Done closes.
	go func() {
		defer close(inputDone)
		feed(ctx, p, s.input)
	}()
	exit, err := p.Wait(ctx)
	endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	p.End(endCtx, proc.DefaultGrace)
	select {
	case <-p.Done():
	case <-endCtx.Done():
		return "", nil, errors.New("git on the machine does not end")
	}
	<-inputDone
	switch {
	case err != nil:
		return "", nil, err
	case exit.Lost:
		return "", nil, errors.New("the connection to the machine was lost")
	}
	return out.split(exit)
}

// feed writes the input of a command.
func feed(ctx context.Context, p *proc.Process, input []byte) {
	if input == nil {
		return
	}
	for len(input) > 0 {
		n := min(len(input), pieceBytes)
		if p.Write(ctx, input[:n]) != nil { // the command says why
			return
		}
		input = input[n:]
	}
	_ = p.CloseInput() // it has ended otherwise
}

// output keeps the output of a script.
type output struct {
	maxData int64

	mu       sync.Mutex
	data     bytes.Buffer
	exceeded bool
}

// Write implements [io.Writer].
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if int64(o.data.Len()+len(data)) > o.maxData+maxHeader {
		o.exceeded = true
		return len(data), nil
	}
	return o.data.Write(data)
}

// split returns the detail of the first line and the data after it, or the error of the script.
func (o *output) split(exit proc.Exit) (detail string, data []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, data, _ := bytes.Cut(o.data.Bytes(), []byte("\n"))
	word, detail, _ := strings.Cut(terminal.OneLine(string(line[:min(len(line), maxHeader)])), " ")
	switch {
	case word == "failed":
		return "", nil, &scriptError{redact.Diagnostic(detail)}
	case word != "ok" || !exit.OK():
		return "", nil, fmt.Errorf(
			"the shell on the machine ended with exit code %d: %s", exit.Code,
			terminal.Short(terminal.OneLine(string(line)), 200),
		)
	case o.exceeded:
		return "", nil, fmt.Errorf("it has more than %d bytes", o.maxData)
	}
	return detail, data, nil
}
