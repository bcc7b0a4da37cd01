package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/terminal"
)

// Grouping is a property of requests by which usage is summed.
type Grouping string

// The groupings.
const (
	ByDay     Grouping = "day"
	ByModel   Grouping = "model"
	ByDir     Grouping = "directory"
	BySession Grouping = "session"
)

// groupings lists the groupings, in the order of the help.
var groupings = []Grouping{ByDay, ByModel, ByDir, BySession}

// ParseGroupings reads groupings that are separated by commas.
func ParseGroupings(text string) (out []Grouping, err error) {
	for _, name := range strings.Split(text, ",") {
		by := Grouping(strings.TrimSpace(name))
		switch {
		case by == "tag":
			return nil, errors.New("cannot sum by tag: sessions have no tags; use --by directory or --by session")
		case !slices.Contains(groupings, by):
			return nil, fmt.Errorf("cannot sum by %q: --by is day, model, directory, session, or several with commas", name)
		case slices.Contains(out, by):
			return nil, fmt.Errorf("cannot sum by %q twice", name)
		}
		out = append(out, by)
	}
	return out, nil
}

// ParseSince reads the beginning of a period: a date, a time (RFC 3339), or a duration before now
// (36h, 7d).
func ParseSince(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); n == 1 && err == nil && text == fmt.Sprintf("%dd", days) && days > 0 {
		return now.AddDate(0, 0, -days), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf(
		"cannot read --since %q: it is a date (2006-01-02), a time (2006-01-02T15:04:05Z) or a duration (36h, 7d)",
		text,
	)
}

// UsageQuery selects and groups requests.
type UsageQuery struct {
	Since time.Time // zero: all
	By    []Grouping
}

// spending is the usage of a group of requests.
type spending struct {
	key      []string // values of the groupings
	sessions map[string]bool
	sum      event.Summary
}

func (s *spending) add(r catalogue.Request) {
	if s.sessions == nil {
		s.sessions = map[string]bool{}
	}
	s.sessions[r.Session] = true
	s.sum.Attempts++
	s.sum.Add(event.AttemptEnded{Usage: r.Usage, Cost: r.Cost})
}

// spent returns the usage of the groups, sorted by their values.
func (q UsageQuery) spent(requests []catalogue.Request) []*spending {
	groups := map[string]*spending{}
	for _, r := range requests {
		var key []string
		for _, by := range q.By {
			key = append(key, by.of(r))
		}
		id := strings.Join(key, "\x00")
		if groups[id] == nil {
			groups[id] = &spending{key: key}
		}
		groups[id].add(r)
	}
	out := make([]*spending, 0, len(groups))
	for _, s := range groups {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *spending) int { return slices.Compare(a.key, b.key) })
	return out
}

// of returns the value of a request. Days are days of this machine's time zone.
func (g Grouping) of(r catalogue.Request) string {
	switch g {
	case ByDay:
		return r.Started.Local().Format(time.DateOnly)
	case ByModel:
		return r.Model
	case ByDir:
		return r.Dir
	}
	return r.Session
}

// Usage writes a table of the usage of sessions, with a last row for all of them. notes describe
// missing data.
func (q UsageQuery) Usage(ctx context.Context, to io.Writer, dataDir string) (notes []string, err error) {
	requests, notes, err := q.requests(ctx, dataDir)
	if err != nil || len(requests) == 0 {
		return notes, err
	}
	header := []string{}
	for _, by := range q.By {
		header = append(header, string(by))
	}
	rows := [][]string{append(header, "sessions", "requests", "input", "cached", "output", "reasoning", "cost")}
	total := &spending{key: make([]string, len(q.By))}
	total.key[0] = "all"
	for _, r := range requests {
		total.add(r)
	}
	groups := q.spent(requests)
	if len(groups) > 1 {
		groups = append(groups, total)
	}
	for _, s := range groups {
		rows = append(rows, s.cells())
	}
	return notes, listing.Table(to, rows)
}

func (s *spending) cells() []string {
	u := s.sum.Usage
	cells := make([]string, 0, len(s.key)+7)
	for _, value := range s.key {
		cells = append(cells, cmp.Or(terminal.Short(value, maxCell), "-"))
	}
	return append(
		cells, fmt.Sprint(len(s.sessions)), fmt.Sprint(s.sum.Attempts), terminal.Tokens(u.Input),
		fmt.Sprintf("%d%%", cachedPercent(u)), terminal.Tokens(u.Output), terminal.Tokens(u.Reasoning), costOf(s.sum),
	)
}

// cachedPercent is the share of the input that the provider read from its cache.
func cachedPercent(u event.Usage) int64 {
	if u.Input == 0 {
		return 0
	}
	return int64(float64(min(u.CacheRead, u.Input)) / float64(u.Input) * 100)
}

// costOf returns the cost in the words of the terminal's /usage.
func costOf(sum event.Summary) string {
	switch {
	case sum.Unpriced == 0:
		return terminal.Dollars(sum.Cost)
	case sum.Cost == 0:
		return "not known"
	}
	return terminal.Dollars(sum.Cost) + ", and " + terminal.Count(sum.Unpriced, "request") + " not known"
}

// spendingLine is the usage of a group as JSON.
type spendingLine struct {
	Day       string      `json:"day,omitempty"`
	Model     string      `json:"model,omitempty"`
	Directory string      `json:"directory,omitempty"`
	Session   string      `json:"session,omitempty"`
	Sessions  int         `json:"sessions"`
	Requests  int         `json:"requests"`
	Usage     event.Usage `json:"usage"`
	Cost      float64     `json:"cost_usd"`
	Unpriced  int         `json:"unpriced"`
}

// UsageJSON writes the usage of sessions as JSON, one object a line for each group.
func (q UsageQuery) UsageJSON(ctx context.Context, to io.Writer, dataDir string) (notes []string, err error) {
	requests, notes, err := q.requests(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	var lines []spendingLine
	for _, s := range q.spent(requests) {
		line := spendingLine{
			Sessions: len(s.sessions), Requests: s.sum.Attempts, Usage: s.sum.Usage, Cost: s.sum.Cost,
			Unpriced: s.sum.Unpriced,
		}
		for n, by := range q.By {
			*map[Grouping]*string{
				ByDay: &line.Day, ByModel: &line.Model, ByDir: &line.Directory, BySession: &line.Session,
			}[by] = s.key[n]
		}
		lines = append(lines, line)
	}
	return notes, listing.JSON(to, lines)
}

// requests returns the requests of the query, and notes about missing data.
func (q UsageQuery) requests(ctx context.Context, dataDir string) (out []catalogue.Request, notes []string, err error) {
	shelf := catalogue.Shelf{Dir: dataDir}
	defer func() { err = errors.Join(err, shelf.Close()) }()
	out, damaged, err := shelf.Requests(ctx, q.Since)
	if damaged > 0 {
		notes = append(notes, fmt.Sprintf(
			"%s damaged: the part that cannot be read is not counted; \"settle sessions check --all\" names each",
			map[bool]string{true: "1 session is", false: fmt.Sprintf("%d sessions are", damaged)}[damaged == 1],
		))
	}
	return out, notes, err
}
