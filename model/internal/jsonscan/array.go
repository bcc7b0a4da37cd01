package jsonscan

// Array walks over the elements of an array.
type Array struct {
	// Value is the raw text of the element, a part of the input.
	Value []byte

	data  []byte
	pos   int
	state state
	err   error
}

// Elements returns a walk over data, which must be an array.
func Elements(data []byte) Array { return Array{data: data} }

// Err returns why the walk ended early, or nil.
func (a *Array) Err() error { return a.err }

// Next moves on to the next element and reports whether there is one.
func (a *Array) Next() bool {
	a.pos = skipSpace(a.data, a.pos)
	switch a.state {
	case atStart:
		if !a.take('[') {
			return a.fail()
		}
		a.state = inMembers
		a.pos = skipSpace(a.data, a.pos)
		if a.take(']') {
			return a.finish()
		}
	case inMembers:
		if a.take(']') {
			return a.finish()
		}
		if !a.take(',') {
			return a.fail()
		}
	case atEnd:
		return false
	}
	from := skipSpace(a.data, a.pos)
	end := skipValue(a.data, from, 1)
	if end < 0 {
		return a.fail()
	}
	a.Value, a.pos = a.data[from:end], end
	return true
}

func (a *Array) take(c byte) bool {
	if a.pos < len(a.data) && a.data[a.pos] == c {
		a.pos++
		return true
	}
	return false
}

func (a *Array) finish() bool {
	a.state = atEnd
	if skipSpace(a.data, a.pos) != len(a.data) {
		a.err = ErrSyntax
	}
	return false
}

func (a *Array) fail() bool {
	a.state, a.err = atEnd, ErrSyntax
	return false
}
