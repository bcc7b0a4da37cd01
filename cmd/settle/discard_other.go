//go:build !linux

package main

import "os"

func discardInput(*os.File) {}
