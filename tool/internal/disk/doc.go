// Package disk is how tools come to a file: from the path that a model gave
// to an absolute one ([Resolve]), and to an open regular file without ever
// waiting for one that is not ([Open]).
package disk
