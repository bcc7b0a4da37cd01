package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/terminal"
)

const setupHelp = `Choose the model that settle uses, and keep the choice in your configuration.

settle shows the keys in your environment and the model servers that answer on
this machine: Ollama (port 11434), LM Studio (1234), vLLM (8000) and llama.cpp
(8080). You choose one, give a key if it needs one, and choose a model. settle
sends one test request, and shows where it has written the choice.

A key that you paste is not shown. settle keeps it in a file of its configuration
directory that only you can read (mode 0600). Or name a command that prints the
key, for example of a keyring. Until the last step, nothing is written.

The terminal ("settle") begins with the same questions if no model was named and
no provider has a key.`

func newSetup(s *streams) *cobra.Command {
	plain := false
	cmd := &cobra.Command{
		Use: "setup", Short: "Choose the model, and give a key", Long: setupHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !s.person() {
				return errors.New("cannot ask for a model: standard input, output and error must be a terminal\n" +
					"  elsewhere, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n" +
					"  or use a local server: --model chat/NAME --base-url http://127.0.0.1:11434/v1")
			}
			dir, err := directory(".")
			if err != nil {
				return err
			}
			sig := catch(cmd.Context())
			defer sig.release()
			r, err := s.settings(dir, nil, config.IgnoreProject)
			if err != nil {
				return err
			}
			if err := s.setUp(sig.ctx, r, dir, plain); err != nil {
				return sig.instead(err)
			}
			fmt.Fprintln(s.stdout, "Begin with: settle")
			return nil
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "write labelled lines and redraw nothing, for screen readers")
	return cmd
}

// setUp asks the person for a model, and keeps the choice.
func (s *streams) setUp(ctx context.Context, r *config.Resolved, dir string, plain bool) error {
	one := setup.Setup{Options: s.options(r, dir), Servers: setup.LocalServers()}
	if (&tuiFlags{plain: plain}).isPlain(s) {
		one.Asker = tui.PlainSetup{Out: s.stdout, Line: s.line(bufio.NewReader(s.stdin))}
		return one.Run(ctx)
	}
	device, err := terminal.Open(s.stdin, s.stdout)
	if err != nil {
		return err
	}
	defer device.Close()
	resized, stop := resizes()
	defer stop()
	return tui.Setup(ctx, tui.Options{
		Terminal: device, Resized: resized, Reflow: terminal.ReflowOf(s.getenv),
		Palette: s.palette().With(r.Terminal.Theme),
	}, one)
}

// line returns a function that reads a line of the person, hidden for a key.
func (s *streams) line(from *bufio.Reader) func(context.Context, bool) (string, error) {
	return func(ctx context.Context, hidden bool) (string, error) {
		before, err := term.GetState(int(s.stdin.Fd()))
		if err != nil {
			return "", err
		}
		type read struct {
			text string
			err  error
		}
		lines := make(chan read, 1)
		go func() { // ends with the line, or with the process: a read of a terminal cannot be ended
			var r read
			if hidden {
				var key []byte
				key, r.err = term.ReadPassword(int(s.stdin.Fd()))
				r.text = string(key)
			} else {
				r.text, r.err = from.ReadString('\n')
			}
			lines <- r // room for one
		}()
		select {
		case r := <-lines:
			return strings.TrimSpace(r.text), r.err
		case <-ctx.Done():
			_ = term.Restore(int(s.stdin.Fd()), before) // the echo
			return "", context.Cause(ctx)
		}
	}
}
