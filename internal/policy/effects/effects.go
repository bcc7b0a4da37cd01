package effects

// Script is what a text does when a shell runs it.
type Script struct {
	// Why says why the script is not understood; empty if it is. There are no
	// commands then.
	Why      string
	Commands []Command
}

// Command is one simple command.
type Command struct {
	Text    string // as it is written, with its redirections
	Name    string // of one word or more, if it is known, even if it is not harmless
	Words   []Word
	Dir     string // where it runs: from where the script starts, or absolute
	Effects []Effect
	// Why says why the command is not known to be harmless; empty if it does
	// nothing beyond Effects. Of its Effects, the redirections are then known.
	Why string
}

// Word is one word of a command, without its quotes.
type Word struct {
	Text string
	// Glob says that the word has wildcards that the shell expands: any
	// number of words that match Text.
	Glob bool
}

// Kind is what an effect is.
type Kind string

// The kinds of effects.
const (
	Looks  Kind = "looks"  // at names, sizes and dates, at Path or below
	Reads  Kind = "reads"  // shows the content of the file Path
	Walks  Kind = "walks"  // shows the content of all files below Path, or of Path
	Writes Kind = "writes" // to the file Path
	Enters Kind = "enters" // has the commands that follow run in Path
	Starts Kind = "starts" // the program that PATH has for the name Path
	// Obeys is git following the configuration of the repository around Path.
	Obeys Kind = "obeys"
	// Tracked is the same, and git shows the content of what it tracks there.
	Tracked Kind = "tracked"

	nothing Kind = "nothing" // with its operands
	changes Kind = "changes" // more than the rest
)

// Effect is one thing that a command does.
type Effect struct {
	Kind Kind
	Path string // from the command's Dir, or absolute
	Glob bool   // Path is a pattern, of which "*" and "?" are not quoted
	// Links says that Walks goes after symbolic links, too.
	Links bool
}
