package proc

// Keeping is a way of keeping processes.
type Keeping string

// The ways.
const (
	Warden Keeping = "warden"        // Linux: nothing escapes
	Groups Keeping = "process group" // what leaves the group may escape
	Job    Keeping = "job object"    // Windows
)

// Custodian says how processes are kept, for people.
type Custodian struct {
	Kind Keeping
	// Weaker says what is not promised that wardens would promise.
	Weaker []string
}

// Confines returns nil if a command can be confined here to what [Spec].Box
// allows, or what is missing.
func Confines() error { return confines() }
