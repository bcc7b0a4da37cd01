// Package atif converts a session to and from the Agent Trajectory Interchange Format,
// version 1.7 (https://github.com/harbor-framework/harbor,
// docs/rfcs/0001-trajectory-format.md), which evaluation and training programs read.
//
//	input ─► user step · attempt ─► agent step with its calls and their results · note ─► system step
//
// The conversion is pure: the same state gives the same trajectory. Discarded items are no
// steps; their cost is part of the final metrics. The format cannot express how calls and
// turns failed or aborted, so that the extras hold their outcome. trajectory.go writes the
// format, read.go reads it, document.go declares it.
package atif
