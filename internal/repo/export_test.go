package repo

// As returns the trust of the user with the id.
func (t Trust) As(uid int) Trust {
	t.self = &uid
	return t
}
