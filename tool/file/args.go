package file

// ReadArguments are those of read. Numbers are float64 since 10.0 is an
// integer to JSON Schema.
type ReadArguments struct {
	Path   string  `json:"path"`
	Offset float64 `json:"offset,omitempty"` // first line, from 1
	Limit  float64 `json:"limit,omitempty"`  // lines
}

// WriteArguments are those of write.
type WriteArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// EditArguments are those of edit.
type EditArguments struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all,omitempty"`
}

// PatchArguments are those of apply_patch.
type PatchArguments struct {
	Input string `json:"input"` // the whole patch
}
