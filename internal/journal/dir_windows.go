package journal

// syncDir does nothing: Windows has no call for it.
func syncDir(string) error { return nil }
