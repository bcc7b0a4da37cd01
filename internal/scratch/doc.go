// Package scratch makes directories for temporary files that last as long as the
// process that made them, even if that is killed.
//
//	New ─► a directory with a lock on it ─► Remove
//	                 │ kill -9: the kernel releases the lock
//	                 ▼
//	       Sweep of a later process: what nobody has locked is removed
//
// C23: Sweep removes only what has a name of ours with this boot of the machine in it, is a
// directory of this user, and is locked by nobody. Directories of other machines that
// share the file system, whose locks may not be seen here, have another boot in their
// names, and stay.
package scratch
