package question

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// Key is the name of the values of the nth question of a form, from 0. TextKey is the name
// of an answer in the user's own words.
func Key(n int) string { return fmt.Sprintf("q%d", n+1) }

// TextKey is described at [Key].
func TextKey(n int) string { return Key(n) + "_text" }

// property is a property of the schema of questions, as the Model Context Protocol allows
// it in forms.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	OneOf       []titled `json:"oneOf,omitempty"`
	Items       *items   `json:"items,omitempty"`
	Default     any      `json:"default,omitempty"`
}

type items struct {
	AnyOf []titled `json:"anyOf"`
}

// Schema returns the schema of the answers to the questions.
func Schema(questions []event.Question) json.RawMessage {
	var members []string
	add := func(name string, p property) {
		raw, _ := json.Marshal(p) // strings have JSON
		members = append(members, fmt.Sprintf("%q:%s", name, raw))
	}
	for n, q := range questions {
		p := property{Type: "string", Title: q.Header, Description: q.Question}
		if p.Title == "" {
			p.Title, p.Description = q.Question, ""
		}
		if !q.MultiSelect { // else a client adds the default to an answer in own words
			p.Default = defaultOf(q)
		}
		if p.OneOf = titles(q); q.MultiSelect && len(p.OneOf) > 0 {
			p.Type, p.OneOf, p.Items = "array", nil, &items{p.OneOf}
		}
		if add(Key(n), p); len(q.Options) > 0 {
			add(TextKey(n), property{Type: "string", Title: p.Title + ", in your own words"})
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(members, ",") + `}}`)
}

// titles are the options of a question with their descriptions.
func titles(q event.Question) (all []titled) {
	for _, o := range q.Options {
		title := o.Label
		if o.Description != "" {
			title += ": " + o.Description
		}
		all = append(all, titled{o.Label, title})
	}
	return all
}

// defaultOf is the default as a value of the question's property; nil for none.
func defaultOf(q event.Question) any {
	switch assumed := q.Assumed(); {
	case assumed == "":
		return nil
	case q.MultiSelect && len(q.Options) > 0:
		return []string{assumed}
	default:
		return assumed
	}
}

// questionFields are the fields of the questions: one for each.
func questionFields(questions []event.Question) (all []Field) {
	for n, q := range questions {
		f := Field{Name: Key(n), Type: "string", words: q.Question}
		var labels []string
		for at, t := range titles(q) {
			f.Options = append(f.Options, Option{t.Const, t.Title})
			labels = append(labels, fmt.Sprintf("%d %s", at+1, t.Const))
		}
		if len(labels) > 0 {
			f.Text = TextKey(n)
			f.words += " " + strings.Join(labels, ", ") + ", or your own words"
		}
		if q.MultiSelect && len(labels) > 0 {
			f.Type = "array"
			f.words += "; several: 1, 2"
		}
		if assumed := defaultOf(q); assumed != nil {
			f.Default, _ = json.Marshal(assumed) // strings have JSON
			f.words += "; default: " + q.Assumed()
		}
		all = append(all, f)
	}
	return all
}

// Content returns the values of answers, which are a list for each question: labels of
// options, or other text.
func Content(questions []event.Question, answers [][]string) json.RawMessage {
	values := map[string]any{}
	for n, q := range questions {
		if n >= len(answers) {
			break
		}
		chosen, text := []string{}, []string{}
		for _, one := range answers[n] {
			if q.Has(one) {
				chosen = append(chosen, one)
			} else if one = strings.TrimSpace(one); one != "" {
				text = append(text, one)
			}
		}
		switch {
		case len(q.Options) == 0:
			values[Key(n)] = strings.Join(text, "\n")
			continue
		case q.MultiSelect && len(chosen) > 0:
			values[Key(n)] = chosen
		case len(chosen) == 1:
			values[Key(n)] = chosen[0]
		default: // several of an option of which one can be chosen are words
			text = append(chosen, text...)
		}
		if len(text) > 0 {
			values[TextKey(n)] = strings.Join(text, "\n")
		}
	}
	raw, _ := json.Marshal(values) // of strings
	return raw
}

// Answers is the inverse of Content: a list for each question, empty for no answer.
func Answers(questions []event.Question, content json.RawMessage) ([][]string, error) {
	var values map[string]any
	if err := json.Unmarshal(content, &values); err != nil {
		return nil, fmt.Errorf("cannot read the answers: %w", err)
	}
	answers := make([][]string, len(questions))
	for n, q := range questions {
		names := []string{Key(n), TextKey(n)}
		// a client that fills in the default of one choice leaves it beside own words
		if text, _ := values[TextKey(n)].(string); strings.TrimSpace(text) != "" && !q.MultiSelect {
			names = names[1:]
		}
		for _, name := range names {
			switch v := values[name].(type) {
			case string:
				if v = strings.TrimSpace(v); v != "" {
					answers[n] = append(answers[n], v)
				}
			case []any:
				for _, one := range v {
					if s, ok := one.(string); ok && !slices.Contains(answers[n], s) {
						answers[n] = append(answers[n], s)
					}
				}
			}
		}
	}
	return answers, nil
}

// Normalize returns the answers in the form that the schema accepts: words that are no option
// are an answer in own words, and an empty answer is none. Other values stay as they are, and so do values of
// other names, which [CheckForm] refuses.
func Normalize(f event.Form, content json.RawMessage) json.RawMessage {
	var values map[string]any
	if len(f.Questions) == 0 || json.Unmarshal(content, &values) != nil || values == nil {
		return content
	}
	for name, v := range values {
		if !isAnswer(name, len(f.Questions)) {
			return content
		}
		switch v.(type) {
		case string, []any:
		default:
			return content
		}
	}
	answers, err := Answers(f.Questions, content)
	if err != nil {
		return content
	}
	return Content(f.Questions, answers)
}

// isAnswer reports whether an answer to one of n questions has the name.
func isAnswer(name string, n int) bool {
	for at := range n {
		if name == Key(at) || name == TextKey(at) {
			return true
		}
	}
	return false
}

// questionsText writes the questions with their options, below the message.
func questionsText(b *strings.Builder, f event.Form) {
	if f.Message != "" {
		block(b, "about", f.Message)
	}
	for n, q := range f.Questions {
		name := fmt.Sprintf("question %d", n+1)
		if q.Header != "" {
			name += " (" + q.Header + ")"
		}
		text := q.Question
		for n, t := range titles(q) {
			text += fmt.Sprintf("\n%d %s", n+1, t.Title)
		}
		block(b, name, text)
		switch assumed := q.Assumed(); {
		case q.MultiSelect && assumed != "":
			fmt.Fprintf(b, "  choose any; default: %s\n", Line(assumed))
		case q.MultiSelect:
			b.WriteString("  choose any\n")
		case assumed != "":
			fmt.Fprintf(b, "  default: %s\n", Line(assumed))
		}
	}
	b.WriteString("  your answers go to the model and into the log\n")
}
