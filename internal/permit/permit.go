package permit

import "encoding/json"

// Decision is what a rule, or a policy, says of a call.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Rule decides about the calls that it matches.
type Rule struct {
	// Tool is the name of a tool, or "*" for all.
	Tool string
	// Pattern is of what the call does; empty matches every call.
	Pattern  string
	Decision Decision
}

// Request is a call that wants to run.
type Request struct {
	Tool      string
	ReadOnly  bool
	Arguments json.RawMessage
	// Dir is the session's working directory, absolute.
	Dir string
}

// Judgement is what a policy says of a call.
type Judgement struct {
	Decision Decision
	// Rule names what decided, such as "rule shell git *" or "default".
	Rule string
	// Why is one line for a person.
	Why string
	// Detail is what a face shows of the call; may be nil.
	Detail json.RawMessage
}

// Config is what a policy is made of.
type Config struct {
	// Default decides where no rule does; empty is Ask.
	Default Decision
	Rules   []Rule
	// Dir is the working directory where a request names none, absolute.
	Dir string
	// Home is the user's home directory, what "~" stands for; may be empty.
	Home string
}

// Policy judges calls. It is safe for concurrent use.
type Policy struct{ config Config }

// New returns the policy. A rule that cannot be understood is an error.
func New(c Config) (*Policy, error) {
	if c.Default == "" {
		c.Default = Ask
	}
	return &Policy{config: c}, nil
}

// Judge says whether the call may run. It has no side effects.
func (p *Policy) Judge(Request) Judgement {
	return Judgement{Decision: p.config.Default, Rule: "default"}
}

// Remember allows calls of the same kind from now on.
func (p *Policy) Remember(Request) {}
