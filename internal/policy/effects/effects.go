package effects

// Script is the analysis of a shell script.
type Script struct {
	// Why is the reason why the script cannot be analysed; then Commands is empty. Empty
	// otherwise.
	Why      string
	Commands []Command
}

// Command is one simple command.
type Command struct {
	Text    string // as written, with its redirections
	Name    string // one word or more, if the command is known, even if it is not harmless
	Words   []Word
	Dir     string // its directory: relative to the start of the script, or absolute
	Start   string // the directory in which it starts: Dir, but for "git -C"
	Effects []Effect
	// Why is the reason why the command is not known to be harmless; Effects then has only
	// the redirections. Empty if the command has no effect beyond Effects.
	Why string
}

// Word is one word of a command, without quotes.
type Word struct {
	Text string
	// Glob marks a word with wildcards, which the shell expands to any number of words that
	// match Text.
	Glob bool
}

// Kind is the kind of an effect.
type Kind string

// The kinds of effects.
const (
	Looks  Kind = "looks"  // shows names, sizes and dates of Path and below
	Reads  Kind = "reads"  // shows the content of the file Path
	Walks  Kind = "walks"  // shows the content of Path and of all files below
	Writes Kind = "writes" // writes to the file Path
	Enters Kind = "enters" // the next commands run in Path
	Starts Kind = "starts" // starts the program that PATH has for the name Path
	// Obeys: git follows the configuration of the repository around Path.
	Obeys Kind = "obeys"
	// Tracked is Obeys, and git shows the content of tracked files.
	Tracked Kind = "tracked"

	nothing Kind = "nothing" // no effect on its operands
	changes Kind = "changes" // more effects than the other entries
)

// Effect is one effect of a command.
type Effect struct {
	Kind Kind
	Path string // relative to the command's Dir, or absolute
	Glob bool   // Path is a pattern whose "*" and "?" are not quoted
	// Links reports that Walks also follows symbolic links.
	Links bool
}
