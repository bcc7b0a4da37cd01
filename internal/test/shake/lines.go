package shake

// On reports whether this build has points. The overlay replaces this file.
const On = false

// first is the seed of processes that do not call Seed.
const first = 0

// held returns where locks are held.
func held() []Lines { return nil }
