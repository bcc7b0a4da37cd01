package proc

// TrackingKind is a method of process tracking.
type TrackingKind string

// The methods.
const (
	Supervisor TrackingKind = "supervisor"    // Linux: nothing escapes
	Groups     TrackingKind = "process group" // processes that leave the group may escape
	Job        TrackingKind = "job object"    // Windows
)

// TrackingInfo describes the process tracking of a system.
type TrackingInfo struct {
	Kind TrackingKind
	// Weaker lists the guarantees of supervisors that do not hold.
	Weaker []string
}

// Confines returns nil if this system can confine a command to [Spec].Sandbox, or the missing
// requirement.
func Confines() error { return confines() }
