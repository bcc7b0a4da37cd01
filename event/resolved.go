package event

// ResolvedPath is a path of a call, with its target when the call was decided.
type ResolvedPath struct {
	Path string `json:"path"` // absolute and clean, as the call names it
	// Real is the canonical path that it led to, in which nothing is a link; empty if
	// its links led nowhere.
	Real string `json:"real"`
	// Shared means that the file had several names (hard links), and some users cannot
	// read it.
	Shared bool `json:"shared,omitempty"`
}
