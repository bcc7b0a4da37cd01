// Package hands is the seam between an agent and the machine that it works on:
// whatever tools do to a machine goes through [Hands]. [Local] is this machine.
//
// The seam is cut where a call is one round trip. A command is one [Command]:
// which shell runs it, in which environment and in which box is found out where
// it runs. What tools do to files is one [Request], since reading, comparing and
// replacing belong together and near to the disk.
package executor
