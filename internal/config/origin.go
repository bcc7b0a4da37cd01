package config

// OriginKind is the kind of source of a value.
type OriginKind string

// The kinds; each overrides the kinds before it.
const (
	Default OriginKind = "default"
	File    OriginKind = "file"    // the user's
	Project OriginKind = "project" // a project's file
	Plugin  OriginKind = "plugin"  // a plugin that the user trusts
	Env     OriginKind = "env"
	Flag    OriginKind = "flag"
)

// Origin is the source of a value.
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
