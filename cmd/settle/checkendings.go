package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/modeltest/endings"
)

const checkEndingsHelp = `Check the log of any agent: everything that starts ends exactly once, with a
cause, and nothing outlives what it belongs to. FILE is a log, - standard input.

Formats:
  records  one JSON object per line: {"start":ID,"kind":…,"in":ID},
           {"end":ID,"cause":…} or {"interrupt":ID}, each with an optional "at"
  settle   settle sessions export, settle run --json
  codex    codex exec --json
  claude   claude --print --verbose --output-format stream-json

Violations are printed on standard output, one per line. Exit code: 0 if there
are none, 1 if there are, 2 if the log cannot be read.`

const checkEndingsExamples = `  codex exec --json "fix the tests" | settle check-endings --format codex -
  settle check-endings --interrupt-bound 1s log.jsonl`

func newCheckEndings(s *streams) *cobra.Command {
	var (
		checker endings.Checker
		format  string
	)
	cmd := &cobra.Command{
		Use: "check-endings FILE", Short: "Check any agent's log: does everything that starts end?",
		Long: checkEndingsHelp, Example: checkEndingsExamples, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if checker.InterruptBound < 0 {
				return errors.New("--interrupt-bound must not be negative")
			}
			source := s.stdin
			if args[0] != "-" {
				file, _, err := disk.OpenRegular(args[0])
				if err != nil {
					return fmt.Errorf("cannot read the log: %w", err)
				}
				defer func() { _ = file.Close() }() // the file was only read
				source = file
			}
			records, err := endings.Read(source, endings.Format(format))
			if err != nil {
				return fmt.Errorf("cannot read the log %q: %w", args[0], err)
			}
			return failed(printEndings(s.stdout, records, checker.Check(records)))
		},
	}
	cmd.Flags().StringVar(&format, "format", string(endings.Records),
		"the log's `FORMAT`: "+strings.Join(endings.Formats(), ", "))
	cmd.Flags().BoolVar(&checker.Unfinished, "unfinished", false,
		"the log is still being written: what is open is no violation")
	cmd.Flags().DurationVar(&checker.InterruptBound, "interrupt-bound", 0,
		"also check that what is interrupted ends within this `TIME`, such as 500ms")
	return cmd
}

// printEndings prints the violations, or how each entity ended.
func printEndings(to io.Writer, records []endings.Record, violations []endings.Violation) error {
	for _, v := range violations {
		if _, err := fmt.Fprintln(to, terminal.OneLine(fmt.Sprint(v))); err != nil {
			return err
		}
	}
	if n := len(violations); n > 0 {
		return fmt.Errorf("violations: %d", n)
	}
	started := 0
	for _, r := range records {
		if r.Start != "" {
			started++
		}
	}
	_, err := fmt.Fprintf(
		to, "%d started, all ended; turns: %s\n", started,
		terminal.OneLine(strings.Join(endings.Ended(records, "turn"), ", ")),
	)
	return err
}
