//go:build !unix

package oneturn

const notWaiting = 0
