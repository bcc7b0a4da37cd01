package event

// JobStarted: a process of the session outlives its call.
type JobStarted struct {
	Job     string `json:"job"` // id
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Log     string `json:"log,omitempty"`  // file with the output of the job
	Mark    string `json:"mark,omitempty"` // SETTLE_PROCESS_MARK in the environment of the job's processes, which marks them
	// Process is the job's process and Keeper its supervisor: another host ends the
	// job by these identities.
	Process *Identity `json:"process,omitempty"`
	Keeper  *Identity `json:"keeper,omitempty"`
}

// JobEnd is the kind of end of a job.
type JobEnd string

// The ends of a job.
const (
	JobExited   JobEnd = "exited"
	JobKilled   JobEnd = "killed"   // by the user, the model or the session's end
	JobReleased JobEnd = "released" // it outlives the session on purpose
	JobLost     JobEnd = "lost"     // its host died; the next host ended its remaining processes
)

// JobEnded: the session no longer owns the job.
type JobEnded struct {
	Job       string    `json:"job"`
	How       JobEnd    `json:"how"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Cause     *Cause    `json:"cause,omitempty"`
	Survivors []Process `json:"survivors,omitempty"`
	// Quarantined has parts of git repositories that the sandboxed job left and that
	// settle moved aside, with the reasons, protected files that settle put back after the job, and
	// the places that settle could not check.
	Quarantined []string `json:"quarantined,omitempty"`
}

// ChildStarted: a child agent works in a session of its own. The event's
// turn and item are the parent's; both are empty for a background child.
type ChildStarted struct {
	Child   string `json:"child"`   // id
	Session string `json:"session"` // its session
	// Call is the call that started the child: the event's item, if it has one.
	Call  string `json:"call,omitempty"`
	Title string `json:"title,omitempty"` // its task in one line, for people
	Model string `json:"model,omitempty"`
	// Agent is the definition of its kind; nil for a child without one.
	Agent *AgentSource `json:"agent,omitempty"`
	// Worktree is the child's own git worktree; nil if it works in its parent's
	// directory.
	Worktree *Worktree `json:"worktree,omitempty"`
}

// AgentSource names the definition of a kind of child agent as it was when the child's parent
// was opened.
type AgentSource struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // its file
	Hash string `json:"hash,omitempty"` // SHA-256 of the file's content, in hexadecimal
}

// Worktree is a git worktree that settle creates for a session: a child agent's, or one
// that a person started. While settle owns the worktree, it is locked in git, and the
// lock's reason names the session (C23).
type Worktree struct {
	Path   string `json:"path"`   // top directory
	Dir    string `json:"dir"`    // the session's working directory in it
	Git    string `json:"git"`    // git directory of the repository
	Branch string `json:"branch"` // branch that settle created for it
	Base   string `json:"base"`   // commit at which it begins
	// From is the directory for which a person's session got the worktree; empty for a
	// child agent's.
	From string `json:"from,omitempty"`
}

// WorktreeLeft is the outcome of a worktree after its session ended.
type WorktreeLeft struct {
	Kept bool `json:"kept"` // false: settle removed it
	// Why is the change in the worktree, or the error that prevented its removal.
	Why string `json:"why,omitempty"`
}

// ChildEnded: the child's work ended. A note reports the end of a background child to
// the parent's model (C18); see [Content].Child.
type ChildEnded struct {
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	Cause   *Cause  `json:"cause,omitempty"`
	// Answer is the child's last message, also if the child did not complete; a long
	// message is reduced to its beginning and end.
	Answer string `json:"answer,omitempty"`
	// ElapsedMS is the child's working time in milliseconds; 0 if unknown.
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`
	// Spent is the consumption of the child and its own children; nil if unknown.
	Spent *Summary `json:"spent,omitempty"`
	// Worktree is the outcome of the child's worktree; nil if it had none, or if a later
	// host determines the outcome.
	Worktree *WorktreeLeft `json:"worktree,omitempty"`
}
