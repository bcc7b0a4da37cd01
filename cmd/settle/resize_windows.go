package main

// resizes says nothing here: the terminal is as large as it was in the beginning
// until settle is continued or Ctrl-L is pressed.
func resizes() (resized <-chan struct{}, stop func()) { return nil, func() {} }
