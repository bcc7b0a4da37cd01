package disk

// Read returns the first limit bytes of a regular file, following links, and the file's size. It
// never blocks: other files are an error.
func Read(path string, limit int64) (data []byte, size int64, err error) {
	file, _, err := OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return ReadHead(file, path, limit)
}
