package disk

// WalkDir is what opens directories where the kernel cannot refuse links itself.
func WalkDir(path string) (*Dir, error) { return walkDir(path, nil) }
