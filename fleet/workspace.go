package fleet

// Place is a session's workspace, as an attempt finds it.
type Place struct {
	// Dir is the directory of this machine that the session opens in. Where the
	// task's executor is elsewhere, the workspace is the directory that the executor begins in.
	Dir string
	// Base is the commit that it began with, and Instance tells it from those that
	// the session had before.
	Base, Instance string
	// Note says to the model what was lost with the one before; "" if nothing was.
	Note string
	// Turn is the turn after which the checkpoint was taken that it was made from; "" if
	// it was made from none.
	Turn string
}
