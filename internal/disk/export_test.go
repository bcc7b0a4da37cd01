package disk

// WalkDir opens a directory as on systems whose kernel cannot refuse links itself.
func WalkDir(path string) (*Dir, error) { return walkDir(path, nil) }
