package policy

// kind is what a call does, as far as rules tell things apart.
type kind string

const (
	runs   kind = "runs"   // a command
	hidden kind = "hidden" // something of a command that cannot be judged
	shows  kind = "shows"  // what a variable holds
	reads  kind = "reads"  // the content of a file
	looks  kind = "looks"  // at names, sizes and dates
	writes kind = "writes" // a file
	does   kind = "does"   // whatever another tool does
)

// deed is one thing that a call would do. A call may run only if each of its
// deeds may.
type deed struct {
	kind kind
	// text is the deed for a person, and why the reason to ask about it where
	// no rule decides.
	text, why string
	// words are those of a command, sets the assignments that come before it
	// and could change what it does.
	words []word
	sets  []string
	// place is that of a path, and at the directory of a command.
	place place
	at    string
	// action is what a pattern for another tool is matched with.
	action string
	// safe says that there is nothing to ask about, but for touches: what a
	// command that is known to be harmless looks at or reads.
	safe    bool
	touches []deed
	// starts says that the command only starts others, which are deeds too:
	// no rule needs to allow it, but one may forbid it.
	starts bool
}

// word is one word of a command as the command gets it.
type word struct {
	text string
	// known says that the text is what the command will get. If not, it is as
	// written, and may become several words or none.
	known bool
	// glob says that the word has wildcards which the shell expands.
	glob bool
	// plain says that a word that is not known shows nothing secret.
	plain bool
}

// definite reports whether the word is one word, the text.
func (w word) definite() bool { return w.known && !w.glob }

func texts(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

func literal(text string) word { return word{text: text, known: true} }

// maxText bounds what is shown of one deed, in bytes.
const maxText = 300

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
