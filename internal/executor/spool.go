package executor

import "os"

// spool keeps unacknowledged output on disk. The mutex of its link guards it.
type spool struct {
	open     func() (*os.File, error)
	maxBytes int64

	file   *os.File // nil until the first piece
	end    int64    // offset of the next piece
	held   int64    // bytes of pieces that are still needed
	failed bool     // for example, the disk is full
}

// put stores a piece, if there is room.
func (s *spool) put(data []byte) (at int64, ok bool) {
	if s == nil || s.failed || s.end+int64(len(data)) > s.maxBytes {
		return 0, false
	}
	if s.file == nil {
		file, err := s.open()
		if err != nil {
			s.failed = true
			return 0, false
		}
		s.file = file
	}
	if _, err := s.file.WriteAt(data, s.end); err != nil {
		s.failed = true
		return 0, false
	}
	at = s.end
	s.end += int64(len(data))
	s.held += int64(len(data))
	return at, true
}

func (s *spool) get(at int64, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := s.file.ReadAt(data, at)
	return data, err
}

// drop forgets a piece; after the last one, the file is used from its start.
func (s *spool) drop(size int) {
	if s == nil || size == 0 {
		return
	}
	if s.held -= int64(size); s.held == 0 {
		s.end, s.failed = 0, false
	}
}

// close closes the file, which has no name any more.
func (s *spool) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close()
		s.file, s.failed = nil, true
	}
}
