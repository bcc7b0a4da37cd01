package proc

// Keeping is a way of keeping processes.
type TrackingKind string

// The ways.
const (
	Supervisor TrackingKind = "warden"        // Linux: nothing escapes
	Groups     TrackingKind = "process group" // what leaves the group may escape
	Job        TrackingKind = "job object"    // Windows
)

// Custodian says how processes are kept, for people.
type TrackingInfo struct {
	Kind TrackingKind
	// Weaker says what is not promised that wardens would promise.
	Weaker []string
}

// Confines returns nil if a command can be confined here to what [Spec].Sandbox
// allows, or what is missing.
func Confines() error { return confines() }
