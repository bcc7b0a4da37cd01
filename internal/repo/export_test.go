package repo

// As returns the trust that the user with the id would have.
func (t Trust) As(uid int) Trust {
	t.self = &uid
	return t
}
