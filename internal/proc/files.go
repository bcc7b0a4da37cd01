package proc

import (
	"fmt"
	"os"

	"github.com/creack/pty"
)

// files are the standard files of a command: the command's ends, which are closed here after the
// start, and the host's ends.
type files struct {
	stdin, stdout, stderr *os.File
	input                 *os.File // host's end: feeds stdin, or the terminal
	out, err              *os.File // host's ends: read by pumps
}

func openFiles(spec Spec) (*files, error) {
	f := &files{}
	if err := f.open(spec); err != nil {
		f.closeTheirs()
		f.closeOurs()
		return nil, err
	}
	return f, nil
}

func (f *files) open(spec Spec) (err error) {
	if spec.Terminal != nil {
		return f.openTerminal(*spec.Terminal)
	}
	if spec.Input == PipeInput {
		f.stdin, f.input, err = os.Pipe()
	} else {
		f.stdin, err = os.Open(os.DevNull)
	}
	if err != nil {
		return fmt.Errorf("cannot open standard input: %w", err)
	}
	if f.out, f.stdout, err = os.Pipe(); err != nil {
		return fmt.Errorf("cannot open a pipe: %w", err)
	}
	f.stderr = f.stdout // one pipe keeps the order
	if spec.Stderr == nil {
		return nil
	}
	if f.err, f.stderr, err = os.Pipe(); err != nil {
		return fmt.Errorf("cannot open a pipe: %w", err)
	}
	return nil
}

func (f *files) openTerminal(size Size) error {
	ours, theirs, err := pty.Open()
	if err != nil {
		return fmt.Errorf("cannot open a terminal: %w", err)
	}
	f.input, f.out = ours, ours
	f.stdin, f.stdout, f.stderr = theirs, theirs, theirs
	if err := pty.Setsize(ours, &pty.Winsize{Rows: size.Rows, Cols: size.Cols}); err != nil {
		return fmt.Errorf("cannot size a terminal: %w", err)
	}
	return nil
}

func (f *files) closeTheirs() { closeAll(f.stdin, f.stdout, f.stderr) }
func (f *files) closeOurs()   { closeAll(f.input, f.out, f.err) }

// closeAll closes each file once; a second close is only an error.
func closeAll(list ...*os.File) {
	for _, file := range list {
		if file != nil {
			_ = file.Close()
		}
	}
}

// attach gives the process the host's ends and starts the pumps.
func (f *files) attach(p *Process, spec Spec) {
	p.input, p.terminal = f.input, spec.Terminal != nil
	p.out = startPump(f.out, spec.Stdout)
	if f.err != nil {
		p.err = startPump(f.err, spec.Stderr)
	}
}
