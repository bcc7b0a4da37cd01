package ask

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
)

// Replies returns the answers of a call that has ended, for people: a line for each question, such as
// "Database → SQLite", or why there are none. It reports false for a call whose result it cannot read.
func Replies(content event.Content) (lines []string, known bool) {
	var (
		in Arguments
		d  Detail
	)
	if json.Unmarshal([]byte(content.Arguments), &in) != nil || json.Unmarshal(content.Detail, &d) != nil {
		return nil, false
	}
	switch d.Ending {
	case event.Answered:
	case event.Unattended:
		lines = append(lines, "no person could be asked")
	case event.Declined, event.Withdrawn, event.Lapsed:
		return []string{string(d.Ending)}, true
	default:
		return nil, false
	}
	for n, q := range in.Questions {
		name := q.Header
		if len(in.Questions) > 1 {
			name = cmp.Or(name, q.Question)
		}
		answer := "no answer"
		if n < len(d.Answers) && len(d.Answers[n]) > 0 {
			answer = strings.Join(d.Answers[n], ", ")
		}
		if d.Ending == event.Unattended {
			if answer = q.Assumed(); answer == "" {
				continue
			}
			answer += " (assumed)"
		}
		lines = append(lines, strings.TrimSpace(name+" → "+answer))
	}
	return lines, true
}
