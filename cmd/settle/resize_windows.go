package main

// resizes reports nothing on Windows: settle reads the size at its start, when it is
// continued, and on Ctrl-L.
func resizes() (resized <-chan struct{}, stop func()) { return nil, func() {} }
