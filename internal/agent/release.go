package agent

import (
	"encoding/json"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/session"
)

// askToRelease makes judges that ask about each call that would let a process
// outlive settle, and about others what they were made for.
func askToRelease(judge func() (settle.Judge, error), permission settle.Permission) func() (settle.Judge, error) {
	return func() (settle.Judge, error) {
		if judge == nil {
			return &releaseJudge{others: permission.Judge()}, nil
		}
		others, err := judge()
		return &releaseJudge{others: others}, err
	}
}

type releaseJudge struct {
	others     settle.Judge
	remembered sync.Map // arguments of calls that release
}

// Judge implements [settle.Judge].
func (r *releaseJudge) Judge(a settle.Approval) settle.Judgement {
	j := r.others.Judge(a)
	if _, known := r.remembered.Load(a.Arguments); known || j.Decision != session.Allow || !releases(a) {
		return j
	}
	j.Decision, j.Rule, j.Why = session.Ask, "jobs.release", "it lets a process outlive settle (jobs.release)"
	return j
}

// Remember implements [settle.Judge].
func (r *releaseJudge) Remember(a settle.Approval) {
	if releases(a) {
		r.remembered.Store(a.Arguments, true)
	}
	r.others.Remember(a)
}

// releases reports whether a call would let a process outlive settle.
func releases(a settle.Approval) bool {
	var args struct {
		Release bool   `json:"release"`
		Action  string `json:"action"`
	}
	if json.Unmarshal([]byte(a.Arguments), &args) != nil {
		return false // it will not run either
	}
	return a.Tool.Name == "shell" && args.Release || a.Tool.Name == "job" && args.Action == "release"
}
