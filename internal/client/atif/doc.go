// Package atif says a session in the Agent Trajectory Interchange Format, version 1.7
// (https://github.com/harbor-framework/harbor, docs/rfcs/0001-trajectory-format.md),
// which evaluations and training read.
//
//	input ─► user step · attempt ─► agent step with its calls and their results · note ─► system step
//
// It is pure: the same state gives the same trajectory. What was discarded, since a later
// attempt said it anew, is no step; what it cost is in the final metrics. How calls and
// turns ended that did not simply complete stands in the extras: the format has no word
// for it.
package atif
