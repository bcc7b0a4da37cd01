//go:build !linux

package setsid

import "errors"

func takeIn([]string) error { return errors.ErrUnsupported }
