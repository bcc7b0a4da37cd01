package file

// ReadArguments are the arguments of read. Numbers are float64, because 10.0 is an integer
// in JSON Schema.
type ReadArguments struct {
	Path   string  `json:"path"`
	Offset float64 `json:"offset,omitempty"` // first line, from 1
	Limit  float64 `json:"limit,omitempty"`  // number of lines
}

// WriteArguments are the arguments of write.
type WriteArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// EditArguments are the arguments of edit.
type EditArguments struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all,omitempty"`
}

// PatchArguments are the arguments of apply_patch.
type PatchArguments struct {
	Input string `json:"input"` // the whole patch
}
