package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/budget"
	"github.com/settle-agent/settle/fleet/index"
)

const statusHelp = `Say how many tasks wait, run, are held and have ended, what those that have ended took, and what
a batch may still take. With a task's id, print that task as JSON.

With --watch, say so again and again, with throughput and an estimate of the time that
is left, until no task waits for a worker or runs. Tasks that are held wait for a person, for as
long as that takes: settle-fleet approvals lists them.`

func newStatus(d *database) *cobra.Command {
	var sel selection
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status [TASK]",
		Short: "Say how many tasks wait, run, are held and have ended, or how one is",
		Long:  statusHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			switch {
			case len(args) == 1:
				u, err := f.index.State(cmd.Context(), args[0])
				if err != nil {
					return failed(err)
				}
				return failed(writeLine(cmd.OutOrStdout(), showStatus(u)))
			case watch:
				return failed(f.watch(cmd.Context(), cmd.OutOrStdout(), sel.filter()))
			}
			c, err := f.index.Tally(cmd.Context(), sel.filter())
			if err != nil {
				return failed(err)
			}
			if asJSON {
				return failed(writeLine(cmd.OutOrStdout(), c))
			}
			_, err = fmt.Fprintf(
				cmd.OutOrStdout(),
				"queued %d, running %d%s, ended %d (completed %d, failed %d, aborted %d); workers lost %d%s%s\n",
				c.Queued,
				c.Running,
				heldText(c),
				c.Ended,
				c.Completed,
				c.Failed,
				c.Aborted,
				c.Lost,
				outboxText(c),
				usageText(c),
			)
			return failed(errors.Join(err, f.showBudget(cmd.Context(), cmd.OutOrStdout(), sel.batch)))
		},
	}
	sel.define(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "continue until no task waits or runs")
	return cmd
}

// showBudget prints the budget and the spending of a batch.
func (f *fleetOf) showBudget(ctx context.Context, to io.Writer, batch string) error {
	if batch == "" {
		return nil
	}
	b, ok, err := budget.Get(ctx, f.pool, batch)
	if err != nil || !ok {
		return err
	}
	_, err = fmt.Fprintf(
		to, "the batch has taken %d tokens of %s, and $%.2f of %s\n", b.SpentTokens, limitText(float64(b.Tokens)),
		b.SpentUSD, dollarText(b.USD),
	)
	return err
}

// dollarText returns a limit in dollars as text; 0 is any.
func dollarText(n float64) string {
	if n == 0 {
		return "any"
	}
	return fmt.Sprintf("$%.2f", n)
}

// heldText describes the number of tasks that wait for a person.
func heldText(c index.Counts) string {
	if c.Held == 0 {
		return ""
	}
	return fmt.Sprintf(", held %d (settle-fleet approvals)", c.Held)
}

// outboxText describes the number of tasks that Temporal does not have, and, if they are old, where to find the reason.
func outboxText(c index.Counts) string {
	age := time.Duration(c.OutboxAge * float64(time.Second)).Round(time.Second)
	switch {
	case c.Outbox == 0:
		return ""
	case age < index.SendDelay:
		return fmt.Sprintf("; %d not yet sent to Temporal", c.Outbox)
	}
	return fmt.Sprintf(
		"; %d not yet sent to Temporal (the oldest is %s old; submit and the workers' logs say why)", c.Outbox, age,
	)
}

// usageText describes the usage of the ended tasks.
func usageText(c index.Counts) string {
	if c.Tokens == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d tokens", c.Tokens)
	switch {
	case c.Unpriced > 0:
		return fmt.Sprintf("%s, cost not known", text)
	case c.USD > 0:
		return fmt.Sprintf("%s, $%.2f", text, c.USD)
	}
	return text
}

const (
	// progressDelay is the wait between two updates of the progress on a terminal, and lineDelay
	// the wait between two lines in other outputs.
	progressDelay, lineDelay = time.Second, 10 * time.Second
	// rateTime is the period over which throughput is measured.
	rateTime = time.Minute
)

// watch shows the progress of tasks until none is open.
func (f *fleetOf) watch(ctx context.Context, to io.Writer, filter index.Filter) error {
	p := &progress{to: to, delay: lineDelay}
	if file, ok := to.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.delay, p.terminal = progressDelay, true
		}
	}
	err := fleet.Await(ctx, func(ctx context.Context) (int, error) {
		open, err := f.index.Open(ctx, filter)
		if now := time.Now(); err == nil && (open == 0 || p.due(now)) {
			var c index.Counts
			if c, err = f.index.Tally(ctx, filter); err == nil {
				p.show(now, c)
			}
		}
		return open, err
	})
	if p.terminal {
		fmt.Fprintln(to)
	}
	return err
}

// progress prints the progress of tasks and an estimate of the time that is left.
type progress struct {
	to       io.Writer
	delay    time.Duration
	terminal bool
	last     time.Time
	seen     []sample // of the last rateTime, oldest first
}

// sample is the number of tasks that had ended at a time.
type sample struct {
	at         time.Time
	endedTasks int
}

// due reports whether progress should be shown now.
func (p *progress) due(now time.Time) bool { return now.Sub(p.last) >= p.delay }

func (p *progress) show(now time.Time, c index.Counts) {
	p.last = now
	line := p.line(now, c)
	if p.terminal {
		line = "\r\x1b[K" + line
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(p.to, line) // what is shown is in the database
}

// line returns the present progress as a line of text.
func (p *progress) line(now time.Time, c index.Counts) string {
	for len(p.seen) > 1 && now.Sub(p.seen[0].at) > rateTime {
		p.seen = p.seen[1:]
	}
	p.seen = append(p.seen, sample{now, c.Ended})
	line := fmt.Sprintf("%d of %d ended", c.Ended, c.Queued+c.Running+c.Held+c.Ended)
	if c.Failed+c.Aborted > 0 {
		line += fmt.Sprintf(" (%d failed, %d aborted)", c.Failed, c.Aborted)
	}
	line += fmt.Sprintf(", %d running, %d waiting%s", c.Running, c.Queued, heldText(c))
	first := p.seen[0]
	if rate := float64(c.Ended-first.endedTasks) / now.Sub(first.at).Seconds(); now.After(first.at) && rate > 0 {
		line += fmt.Sprintf("; %.1f/s", rate)
		if left := c.Queued + c.Running; left > 0 {
			line += fmt.Sprintf(
				", about %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second),
			)
		}
	}
	return line + usageText(c)
}
