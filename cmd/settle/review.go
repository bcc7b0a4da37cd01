package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/review"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const reviewHelp = `Have the model review a change, and print its findings: file, line, severity and text,
the most serious first. Without words, it reviews what is not committed, or else the
last commit; with --base, the changes since a commit or branch. Words say what to review
instead; one word such as main..HEAD is the difference between two commits, and with three
dots for a branch: main...topic. Before the turn, settle asks git for the changed files: if
there are none, it says so and calls no model.

The turn cannot change anything unless you set --permission: tools and commands that only
read run, in the read-only sandbox if there is one, and all other calls are denied without
a question. Without a sandbox, settle's judgement of a command decides alone. A permission
of the configuration and its rules can deny more, and allow nothing more. With --json,
standard output gets one JSON object: summary and findings; or, if the review did not
complete or did not start, outcome, exit_code and reason. An answer that is no report is
printed as it is, without --json, and the exit code is 1.

Exit codes: 0 reviewed, with or without findings, or nothing to review; otherwise as for "settle run": 1 failed,
or the answer is no report, 2 wrong usage or configuration, 3 limit reached, 130
interrupted.`

// reviewFlags are the flags of review that are not settings.
type reviewFlags struct {
	run    runFlags
	base   string
	asJSON bool
	// comments is a folder for comments; empty for none.
	comments string
}

// reviewTurn is the turn of a review.
type reviewTurn struct {
	// what describes the reviewed changes; base is the commit or branch whose later changes are
	// reviewed.
	what, base string
	// answer is the final answer, reason the cause if there is none. text is an answer that is no report.
	answer, reason, text string
	// has reports whether the reviewed changes contain a file; nil if that is not known.
	has   func(file string) bool
	place review.Place
}

func newReview(s *streams) *cobra.Command {
	var f reviewFlags
	cmd := &cobra.Command{
		Use: "review [flags] [WHAT…]", Short: "Have the model review a change", Long: reviewHelp,
		Example: "  settle review\n  settle review --base origin/main --json\n  settle review main...HEAD\n" +
			"  settle review \"the error handling of internal/store\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := f.review(cmd, s, args)
			if err != nil {
				return err
			}
			if code != stdio.CodeCompleted {
				return &exitError{code: code} // the command has printed the cause
			}
			return nil
		},
	}
	settingFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVarP(&f.run.dir, "cwd", "C", ".", "work in `DIR`")
	flags.StringVar(&f.base, "base", "", "review the changes since the commit or branch `REF`")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	flags.StringVar(
		&f.comments, "comments", "", "also write a comment for each finding, and a summary, into the folder `DIR`",
	)
	flags.BoolVar(&f.run.ephemeral, "ephemeral", false, "do not keep the session")
	flags.BoolVarP(&f.run.quiet, "quiet", "q", false, "print only errors to standard error")
	flags.BoolVarP(
		&f.run.verbose, "verbose", "v", false, "print progress to standard error even if it is not a terminal",
	)
	f.run.projectFlags.define(flags)
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	return cmd
}

// review runs the turn and prints the findings.
func (f *reviewFlags) review(cmd *cobra.Command, s *streams, args []string) (int, error) {
	turn := &reviewTurn{what: strings.Join(args, " "), base: f.base, reason: "the turn did not complete"}
	code, err := f.turn(cmd, s, turn)
	if nothing, ok := errors.AsType[*nothingError](err); ok {
		return stdio.CodeCompleted, f.report(s, review.Nothing(nothing.summary))
	}
	if err != nil {
		return code, f.refused(s, err)
	}
	if code != stdio.CodeCompleted {
		err := f.failed(s, code, turn.reason)
		if turn.text != "" && !f.asJSON {
			_, printed := fmt.Fprintln(s.stdout, strings.TrimSpace(terminal.Text(turn.text)))
			err = errors.Join(err, failed(printed))
		}
		return code, err
	}
	report, err := review.Parse(turn.answer)
	if err != nil {
		s.say(err)
		return stdio.CodeFailed, f.failed(s, stdio.CodeFailed, err.Error())
	}
	if turn.has != nil {
		report.MarkOutside(turn.place, turn.has)
	}
	return code, f.report(s, report)
}

// report writes the report of a review that completed.
func (f *reviewFlags) report(s *streams, report review.Report) error {
	if f.comments != "" {
		if err := report.Comments(f.comments); err != nil {
			return failed(err)
		}
	}
	if f.asJSON {
		return failed(json.NewEncoder(s.lines()).Encode(report))
	}
	return failed(report.Table(s.stdout))
}

// turn runs the turn. An error means that it did not start.
func (f *reviewFlags) turn(cmd *cobra.Command, s *streams, turn *reviewTurn) (int, error) {
	if f.base != "" && turn.what != "" {
		return 0, errors.New("--base and what to review: give one of them")
	}
	if f.comments != "" { // for a process that is killed
		err := review.FailureComment(f.comments, "did not finish", "the process ended before the review")
		if err != nil {
			f.comments = "" // a second attempt would fail too
			return 0, err
		}
	}
	f.run.review = turn
	return f.run.run(cmd, s, nil)
}

// refused reports to programs that the review did not start, and returns the error.
func (f *reviewFlags) refused(s *streams, err error) error {
	code, why := stdio.CodeUsage, err
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		if code = exit.code; exit.err != nil {
			why = exit.err
		}
	}
	return errors.Join(err, f.failed(s, code, redact.Diagnostic(why.Error())))
}

// failed reports the end of a review that did not complete to programs.
func (f *reviewFlags) failed(s *streams, code int, reason string) error {
	outcome, words := "interrupted", "was interrupted"
	switch code {
	case stdio.CodeFailed:
		outcome, words = "failed", "failed"
	case stdio.CodeUsage:
		outcome, words = "refused", "did not start"
	case stdio.CodeLimit:
		outcome, words = "limit", "reached a limit"
	}
	var comments, printed error
	if f.comments != "" {
		comments = review.FailureComment(f.comments, words, reason)
	}
	if f.asJSON {
		printed = json.NewEncoder(s.lines()).Encode(map[string]any{
			"outcome": outcome, "exit_code": code, "reason": reason,
		})
	}
	return failed(errors.Join(comments, printed))
}

// nothingError reports that there is nothing to review.
type nothingError struct{ summary string }

func (e *nothingError) Error() string { return e.summary }

// request returns the prompt. The reviewed commits must exist before the turn: the model could take
// git's error for the absence of changes. The error is a nothingError if git lists no change.
func (t *reviewTurn) request(ctx context.Context, s *streams, p runPlace) (string, error) {
	if p.resolved.Executor != "" { // the repository is on another machine
		if t.base == "" {
			return review.Request(cmp.Or(t.what, review.Default), nil), nil
		}
		if err := review.CheckBase(t.base); err != nil {
			return "", err
		}
		return review.Request(review.Since(t.base, ""), nil), nil
	}
	within, isRange := review.RangeOf(t.what)
	if _, err := os.Lstat(filepath.Join(p.dir, t.what)); err == nil {
		isRange = false
	}
	if t.what != "" && !isRange {
		t.has, t.place.Dirs = func(file string) bool { return isBelow(p.dir, file) }, dirsOf(p.dir)
		return review.Request(t.what, nil), nil
	}
	repository, err := assemble.OpenRepository(ctx, s.environ, p.dir)
	if err != nil {
		return "", fmt.Errorf("cannot review: %w; say what to review instead: settle review \"the parser\"", err)
	}
	var what, nothing string
	var files []string
	switch {
	case isRange:
		what, files, err = t.between(ctx, repository, within)
		nothing = fmt.Sprintf("nothing to review in %q", t.what)
	case t.base != "":
		what, files, err = t.since(ctx, repository)
		nothing = fmt.Sprintf("nothing to review since %q", t.base)
	default:
		what, nothing = review.Default, "nothing to review: no file has an uncommitted change, and HEAD changes none"
		if !repository.HasCommit(ctx) {
			nothing = "nothing to review: the repository has no commit and no file"
		}
		files, err = repository.ChangedFiles(ctx, "")
		if err != nil {
			err = fmt.Errorf("cannot review: cannot list the changed files: %w", err)
		}
	}
	if err == nil && !t.canHide(ctx, repository, isRange) {
		t.has, t.place = review.Has(files), review.Place{Dirs: dirsOf(p.dir), Prefix: repository.Prefix(ctx)}
		if len(files) == 0 {
			err = &nothingError{nothing}
		}
	}
	return review.Request(what, files), err
}

// dirsOf returns the path of a directory as it is named, and without links.
func dirsOf(dir string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir {
		return []string{dir}
	}
	return []string{dir, real}
}

// isBelow reports whether a file exists below the directory or one of its parents: the model names
// files relative to the top of the repository.
func isBelow(dir, file string) bool {
	for at := dir; filepath.IsLocal(file); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, file)); err == nil {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// canHide reports whether the repository can have changes that settle's list does not have: changes
// within submodules of the working tree. The model looks for them.
func (*reviewTurn) canHide(ctx context.Context, in assemble.Repository, isRange bool) bool {
	if isRange {
		return false
	}
	hasSubmodules, err := in.HasSubmodules(ctx)
	return hasSubmodules || err != nil
}

// since returns a description of the changes since the base, and the changed files.
func (t *reviewTurn) since(ctx context.Context, in assemble.Repository) (what string, files []string, err error) {
	base, err := in.Base(ctx, t.base)
	if err == nil {
		files, err = in.ChangedSince(ctx, base.Ancestor)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot review the changes since %q: %w", t.base, err)
	}
	return review.Since(t.base, base.Commit), files, nil
}

// between returns a description of the changes of a range, and the changed files.
func (t *reviewTurn) between(
	ctx context.Context, in assemble.Repository, within review.Range,
) (what string, files []string, err error) {
	first, last, err := in.Range(ctx, within.From, within.To, within.FromAncestor)
	if err == nil {
		files, err = in.ChangedBetween(ctx, first, last)
	}
	if err != nil {
		return "", nil, fmt.Errorf("cannot review the range %q: %w", t.what, err)
	}
	return review.Between(t.what, first, last), files, nil
}

// agent sets the permissions of the turn. The user's configuration is for other work: it can deny
// more calls, but cannot allow more. The flag --permission replaces the mode of reviews.
func (*reviewTurn) agent(o *assemble.Options) {
	o.HostOptions.Frontend, o.Sandbox = "review", config.SandboxAuto
	strict := *o.Settings
	if !isPermissionFlag(&strict) {
		o.Policy, o.Ceiling = assemble.NewPolicy(assemble.ReviewMode()), strict.Permission
		o.Unasked, strict.Permission = true, ""
	}
	if strict.Permission == "" || strict.Permission == settle.Deny {
		strict.Rules = slices.DeleteFunc(slices.Clone(strict.Rules), func(r config.Rule) bool {
			return r.Decision == settle.Allow
		})
	}
	o.Settings = &strict
}

// options makes the turn's answer a report, and keeps it from standard output.
func (t *reviewTurn) options(o *run.Options) error {
	o.Schema = review.Schema()
	check, err := oneturn.Conform(o.Schema, "settle review")
	o.Check = func(answer string) error {
		err := check(review.Object(answer))
		if err != nil {
			t.text = answer
		}
		return err
	}
	o.Answer = func(text string) error { t.answer = text; return nil }
	o.Failed = func(cause string) { t.reason = cause }
	o.Stdout = io.Discard
	return err
}
