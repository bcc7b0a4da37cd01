package config

// OriginKind is the kind of place that a value comes from.
type OriginKind string

// The kinds, each beating the ones before it.
const (
	Default OriginKind = "default"
	File    OriginKind = "file"    // the user's
	Project OriginKind = "project" // a project's file
	Env     OriginKind = "env"
	Flag    OriginKind = "flag"
)

// Origin is where a value comes from.
type Origin struct {
	Kind OriginKind
	// Where is the file with its line, the variable, or the flag.
	Where string
}

func (o Origin) String() string {
	if o.Where == "" {
		return string(o.Kind)
	}
	return o.Where
}
