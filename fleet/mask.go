package fleet

import (
	"fmt"
	"slices"
)

// Mask returns the task as it may be stored (C15): mask removes keys from the texts that people
// write: the prompt and the values of labels. A task with a key in a name, an address or a
// command would not work without it, and is an error.
func (t Task) Mask(mask func(text string) string) (Task, error) {
	type text struct{ field, value string }
	texts := []text{
		{"session", t.Session},
		{"input", t.Input},
		{"dir", t.Dir},
		{"repo", t.Repo},
		{"ref", t.Ref},
		{"model", t.Model},
		{"executor", t.Executor},
		{"batch", t.Batch},
		{"tenant", t.Tenant},
	}
	for key := range t.Labels {
		texts = append(texts, text{"key of a label", key})
	}
	if n := slices.IndexFunc(texts, func(text text) bool { return mask(text.value) != text.value }); n >= 0 {
		return t, fmt.Errorf(
			"the %s of the task contains a key, which would be stored; nothing was submitted; leave it out, and give it to the workers instead",
			texts[n].field,
		)
	}
	t.Prompt = mask(t.Prompt)
	if len(t.Labels) > 0 {
		labels := make(map[string]string, len(t.Labels))
		for key, value := range t.Labels {
			labels[key] = mask(value)
		}
		t.Labels = labels
	}
	return t, nil
}
