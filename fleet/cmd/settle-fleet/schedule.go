package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const scheduleHelp = `Submit a task again and again.

A schedule is Temporal's. At each of its times it starts a small workflow, which submits
the task in a new session, NAME-TIME, such as nightly-2026-12-01T020000Z. The prompt
stays in the database. A time that passes while Temporal is down is made up for within
ten minutes; while no worker runs, one submission waits, and further ones are left out.

  settle-fleet schedule create nightly --cron "0 2 * * *" --repo URL "update the dependencies"
  settle-fleet schedule create berlin --cron "CRON_TZ=Europe/Berlin 0 9 * * 1-5" "sum up the issues"
  settle-fleet schedule create often --every 30m "look at the queue"`

func newSchedule(d *database) *cobra.Command {
	return newGroup(
		"schedule", "Submit a task again and again, and list such schedules", scheduleHelp,
		newScheduleCreate(d), newScheduleList(d), newScheduleDelete(d),
	)
}

// minEvery is the shortest interval of a schedule.
const minEvery = time.Second

func newScheduleCreate(d *database) *cobra.Command {
	var f submitFlags
	var s index.Schedule
	cmd := &cobra.Command{
		Use: "create NAME (--cron TEXT | --every DURATION) PROMPT…", Short: "Create a schedule",
		Long: "Create a schedule: the prompt and the flags are those of its task, as with submit.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (s.Cron == "") == (s.Every == 0) || s.Every != 0 && s.Every < minEvery {
				return errors.New("a schedule needs --cron or --every, and --every is at least a second")
			}
			if err := d.engine.checkQueue(); err != nil {
				return err
			}
			f.cwdSet = cmd.Flags().Changed("cwd")
			secrets, err := d.secrets()
			if err != nil {
				return err
			}
			f.redactor = redact.New(secrets...)
			s.Name, f.task.Session = args[0], args[0]+"-2006-01-02T150405Z" // as a run's, so that it is checked
			if err := fleet.CheckName("schedule", s.Name); err != nil {
				return err
			}
			tasks, err := f.tasks(cmd.InOrStdin(), args[1:])
			if err != nil {
				return err
			}
			s.Task = tasks[0]
			s.Task.Session, s.Task.Input = "", "" // each run has its own
			to, err := d.openRunning(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer to.close()
			return failed(to.engine.Schedule(cmd.Context(), s))
		},
	}
	cmd.Flags().
		StringVar(&s.Cron, "cron", "", "submit at the times of `TEXT`, five fields in UTC, or behind CRON_TZ=ZONE")
	cmd.Flags().DurationVar(&s.Every, "every", 0, "submit every `DURATION`, such as 30m or 24h")
	f.defineTask(cmd.Flags())
	return cmd
}

func newScheduleList(d *database) *cobra.Command {
	cmd := newListOf(d.openSchedules, "List the schedules", "schedule", "NAME\tWHEN\tNEXT\tPROMPT",
		func(ctx context.Context, f *fleetOf) ([]engine.Schedule, error) { return f.engine.Schedules(ctx) },
		func(s engine.Schedule) string {
			next := "never"
			switch {
			case s.Missing:
				next = "unknown to Temporal: run settle-fleet recover"
			case s.Next != nil:
				next = s.Next.UTC().Format(time.RFC3339)
			}
			prompt := terminal.Short(s.Task.Prompt, maxPrompt)
			return fmt.Sprintf("%s\t%s\t%s\t%s", s.Name, scheduleTimes(s), next, prompt)
		})
	return cmd
}

// openSchedules is [database.openRunning] for a list.
func (d *database) openSchedules(cmd *cobra.Command) (*fleetOf, error) {
	return d.openRunning(cmd.Context(), newLogger(cmd))
}

// scheduleTimes returns the times of a schedule as text.
func scheduleTimes(s engine.Schedule) string {
	if s.Cron != "" {
		return s.Cron
	}
	every := s.Every.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(every, zero) {
			every = every[:len(every)-2]
		}
	}
	return "every " + every
}

// maxPrompt is the maximum length of a prompt in a list, in characters.
const maxPrompt = 60

func newScheduleDelete(d *database) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a schedule; the tasks that it has submitted stay", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := d.openRunning(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer to.close()
			found, err := to.engine.Unschedule(cmd.Context(), args[0])
			if err == nil && !found {
				err = fmt.Errorf("there is no schedule %q; settle-fleet schedule list has them all", args[0])
			}
			return failed(err)
		},
	}
}
