package jsonscan

// The functions of this file return the end of the value that begins at pos, or -1 if it is not
// JSON.

func skipSpace(data []byte, pos int) int {
	for pos < len(data) {
		switch data[pos] {
		case ' ', '\t', '\r', '\n':
			pos++
		default:
			return pos
		}
	}
	return pos
}

func skipValue(data []byte, pos, depth int) int {
	if pos >= len(data) || depth > maxDepth {
		return -1
	}
	switch c := data[pos]; {
	case c == '"':
		return skipString(data, pos)
	case c == '{':
		return skipObject(data, pos, depth)
	case c == '[':
		return skipArray(data, pos, depth)
	case c == 't':
		return skipWord(data, pos, "true")
	case c == 'f':
		return skipWord(data, pos, "false")
	case c == 'n':
		return skipWord(data, pos, "null")
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(data, pos)
	}
	return -1
}

func skipWord(data []byte, pos int, word string) int {
	if len(data)-pos < len(word) || string(data[pos:pos+len(word)]) != word {
		return -1
	}
	return pos + len(word)
}

func skipString(data []byte, pos int) int {
	if pos >= len(data) || data[pos] != '"' {
		return -1
	}
	for pos++; pos < len(data); pos++ {
		switch c := data[pos]; {
		case c == '"':
			return pos + 1
		case c < ' ':
			return -1
		case c == '\\':
			pos++
			if pos >= len(data) {
				return -1
			}
			switch data[pos] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if hex4(data[pos+1:]) < 0 {
					return -1
				}
				pos += 4
			default:
				return -1
			}
		}
	}
	return -1
}

func skipObject(data []byte, pos, depth int) int {
	pos = skipSpace(data, pos+1)
	if pos < len(data) && data[pos] == '}' {
		return pos + 1
	}
	for {
		if pos = skipString(data, pos); pos < 0 {
			return -1
		}
		pos = skipSpace(data, pos)
		if pos >= len(data) || data[pos] != ':' {
			return -1
		}
		if pos = skipValue(data, skipSpace(data, pos+1), depth+1); pos < 0 {
			return -1
		}
		pos = skipSpace(data, pos)
		if pos >= len(data) {
			return -1
		}
		if data[pos] == '}' {
			return pos + 1
		}
		if data[pos] != ',' {
			return -1
		}
		pos = skipSpace(data, pos+1)
	}
}

func skipArray(data []byte, pos, depth int) int {
	pos = skipSpace(data, pos+1)
	if pos < len(data) && data[pos] == ']' {
		return pos + 1
	}
	for {
		if pos = skipValue(data, pos, depth+1); pos < 0 {
			return -1
		}
		pos = skipSpace(data, pos)
		if pos >= len(data) {
			return -1
		}
		if data[pos] == ']' {
			return pos + 1
		}
		if data[pos] != ',' {
			return -1
		}
		pos = skipSpace(data, pos+1)
	}
}

func skipNumber(data []byte, pos int) int {
	if data[pos] == '-' {
		pos++
	}
	switch from := pos; {
	case pos < len(data) && data[pos] == '0':
		pos++
	default:
		if pos = skipDigits(data, pos); pos == from {
			return -1
		}
	}
	if pos < len(data) && data[pos] == '.' {
		from := pos + 1
		if pos = skipDigits(data, from); pos == from {
			return -1
		}
	}
	if pos < len(data) && (data[pos] == 'e' || data[pos] == 'E') {
		pos++
		if pos < len(data) && (data[pos] == '+' || data[pos] == '-') {
			pos++
		}
		from := pos
		if pos = skipDigits(data, from); pos == from {
			return -1
		}
	}
	return pos
}

func skipDigits(data []byte, pos int) int {
	for pos < len(data) && '0' <= data[pos] && data[pos] <= '9' {
		pos++
	}
	return pos
}
