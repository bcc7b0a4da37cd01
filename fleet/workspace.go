package fleet

// Place is the workspace of a session in an attempt.
type Place struct {
	// Dir is the directory of this machine that the session opens in. If the task's executor
	// is on another machine, the workspace is the directory that the executor begins in.
	Dir string
	// Base is the commit that it began with, and Instance tells it from those that
	// the session had before.
	Base, Instance string
	// Note describes, for the model, what was lost with the workspace before; "" if nothing was.
	Note string
	// Turn is the turn after which the checkpoint was taken that it was made from; "" if
	// it was made from none.
	Turn string
}
