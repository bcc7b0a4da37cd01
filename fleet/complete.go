package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/terminal"
)

// DefaultTenant is the tenant of tasks that name none.
const DefaultTenant = "default"

const (
	// maxID is the maximum length of the ids of sessions and inputs: the number of an
	// attempt can be added to the id of an input.
	maxID = 100
	// maxName bounds the names of tenants and batches, in bytes.
	maxName = 100
	// minSeconds and maxSeconds bound the time limit of a task's turns, in seconds: less
	// would round to 0, which is no limit, and far more would not fit a duration.
	minSeconds, maxSeconds = 0.001, 365 * 24 * 60 * 60
)

// Complete returns the task with its ids, or an error for an invalid task. A complete task
// can be stored.
func (t Task) Complete() (Task, error) {
	if strings.TrimSpace(t.Prompt) == "" {
		return t, errors.New("the task has no prompt")
	}
	if t.Session == "" {
		id, err := uuid.NewV7() // so that they sort by time
		if err != nil {
			return t, fmt.Errorf("cannot make an id: %w", err)
		}
		t.Session = id.String()
	}
	if t.Input == "" {
		t.Input = "1"
	}
	if t.Tenant == "" {
		t.Tenant = DefaultTenant
	}
	for _, check := range []func() error{t.checkNames, t.checkTexts, t.checkRepo, t.Limits.check} {
		if err := check(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// checkNames checks the names in the task.
func (t Task) checkNames() error {
	if err := checkID("session", t.Session); err != nil {
		return err
	}
	if err := checkID("input", t.Input); err != nil {
		return err
	}
	if err := CheckName("tenant", t.Tenant); err != nil {
		return err
	}
	if t.Batch != "" {
		if err := CheckName("batch", t.Batch); err != nil {
			return err
		}
	}
	for key := range t.Labels {
		if key == "" || strings.ContainsFunc(key, isHidden) {
			return fmt.Errorf("the label %q has no key, or one with a character that does not print", key)
		}
	}
	return nil
}

// checkID checks the id of a session or an input. A session's id is
// also the name of a directory.
func checkID(kind, id string) error {
	switch {
	case len(id) > maxID:
		return fmt.Errorf("the id %q of the %s has more than %d bytes", id, kind, maxID)
	case id == "." || id == "..":
		return fmt.Errorf(
			"the id %q of the %s is the name of a directory that is always there; use another one", id, kind,
		)
	case strings.ContainsAny(id, "/~ ") || strings.ContainsFunc(id, isHidden):
		return fmt.Errorf(
			"the id %q of the %s has a slash, a tilde, a space, or a character that does not print", id, kind,
		)
	}
	return nil
}

// CheckName checks the name of a tenant, a batch or another group of tasks.
func CheckName(kind, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", kind)
	case len(name) > maxName:
		return fmt.Errorf("the %s %q has more than %d bytes", kind, name, maxName)
	case strings.Contains(name, " ") || strings.ContainsFunc(name, isHidden):
		return fmt.Errorf("the %s %q has a space, or a character that does not print", kind, name)
	}
	return nil
}

// isHidden reports whether a name with the character cannot be read or written: it is
// invisible, moves the cursor, is a space other than " ", or replaces invalid UTF-8.
func isHidden(r rune) bool {
	return !unicode.IsPrint(r) || terminal.Control(r) || r == unicode.ReplacementChar
}

// checkTexts refuses what the database cannot store: a NUL.
func (t Task) checkTexts() error {
	type text struct{ field, value string }
	texts := []text{
		{"prompt", t.Prompt},
		{"dir", t.Dir},
		{"repo", t.Repo},
		{"ref", t.Ref},
		{"model", t.Model},
		{"executor", t.Executor},
	}
	for key, value := range t.Labels {
		texts = append(texts, text{fmt.Sprintf("label %q", key), value})
	}
	for _, text := range texts {
		if strings.Contains(text.value, "\x00") {
			return fmt.Errorf("the %s of the task has a NUL, which cannot be stored", text.field)
		}
	}
	return nil
}

// check checks the limits.
func (l Limits) check() error {
	if l.Steps < 0 || l.Seconds < 0 || l.Tokens < 0 {
		return errors.New("a limit of the task is below zero")
	}
	if l.Seconds != 0 && !(l.Seconds >= minSeconds && l.Seconds <= maxSeconds) { // as NaN is
		return fmt.Errorf(
			"the limit of %g seconds is neither 0 nor between %g and %d (365 days)", l.Seconds, minSeconds,
			int(maxSeconds),
		)
	}
	return nil
}

// checkRepo checks the repository of the task.
func (t Task) checkRepo() error {
	switch {
	case t.Repo == "" && (t.Ref != "" || t.Depth != 0):
		return errors.New("the task has a ref or a depth, and no repo")
	case t.Repo == "":
		return nil
	case t.Dir != "":
		return errors.New("the task has both a dir and a repo")
	case t.Depth < 0:
		return errors.New("the depth of the task is below zero")
	}
	for _, text := range []string{t.Repo, t.Ref} {
		if strings.HasPrefix(text, "-") || strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("cannot use %q as a repo or ref", text)
		}
	}
	if !strings.Contains(t.Repo, ":") && !path.IsAbs(t.Repo) {
		return fmt.Errorf("the repo %q is neither a URL nor an absolute path", t.Repo)
	}
	if strings.ContainsAny(t.Ref, ":+ *") { // it would be more than one, or have another name here
		return fmt.Errorf("the ref %q is not the name of a branch, a tag or a commit", t.Ref)
	}
	return checkSecret(t.Repo)
}

// checkSecret refuses the URL of a repository that has a password (C15).
func checkSecret(repo string) error {
	u, err := url.Parse(repo)
	switch {
	case err != nil && strings.Contains(repo, "://"): // git accepts more URLs than Go; the error would contain the URL
		return errors.New("the URL of the repo cannot be read; write what is special in it as %XX")
	case err != nil || u.User == nil:
		return nil
	}
	if _, secret := u.User.Password(); secret {
		return errors.New("the URL of the repo has a password; use a credential helper of the worker's instead")
	}
	return nil
}
