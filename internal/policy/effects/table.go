package effects

import (
	"maps"
	"sync"
)

const (
	programName = `^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`
	digits      = `^-?[0-9]+(\.[0-9]+)?$`
	// plainFormat leaves out %n, which sets variables, and %b.
	plainFormat = `^([^%\\-]|` + formatPart + `)([^%\\]|` + formatPart + `)*$`
	formatPart  = `%%|%-?[0-9]*(\.[0-9]+)?[sdixcf]|\\[nt\\]`
	// sedScript prints, deletes, or replaces: no w, r, e, and no brackets,
	// after which programs differ in where an expression ends.
	sedScript  = `^` + sedCommand + `(; ?` + sedCommand + `)*$`
	sedCommand = `(` + sedAddress + `(,(` + sedAddress + `|\+[0-9]+))?[pdq]|s/` + sedText + `+/` + sedText + `*/g?)`
	sedAddress = `([0-9]+|\$|/` + sedText + `+/)`
	sedText    = `(?:[^/\\\[\n]|\\[.()*+?|{}^$])`
	// jqPath takes values out of a document, without the environment.
	jqPath = `^\.([A-Za-z0-9_.]|\[[0-9]*\]|"[A-Za-z0-9_/@.-]*")*( ?\| ?(keys|length|type|\.([A-Za-z0-9_.]|\[[0-9]*\])*))*$`
)

// table has the commands that only read, with the options that change
// nothing, start nothing and read no further file, for GNU, BSD and busybox
// alike. It is documented in docs/config.md.
var table = sync.OnceValue(func() map[string]entry {
	sums := entry{flags: "btz", long: "binary text zero", operands: files}
	grep := entry{
		operands: patterns, more: search, flags: "EFGPabcHhiLlnoqsvwxyzZrRIT", numbers: "ABCm", texts: "e", digits: true,
		long: `extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case word-regexp line-regexp count color?
			colour? files-without-match files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename
			line-number null after-context= before-context= context= text exclude= exclude-dir= include= recursive invert-match`,
	}
	all := map[string]entry{
		// The shell's own.
		":": {more: say, builtin: true}, "true": {more: say, builtin: true}, "false": {more: say, builtin: true}, "echo": {more: say, builtin: true},
		"printf": {operands: texts, builtin: true, more: format},
		"pwd":    {builtin: true}, "cd": {more: change, builtin: true}, "test": {more: test, builtin: true}, "[": {more: bracket, builtin: true},
		"command": {more: lookup, builtin: true}, "type": {operands: texts, least: 1, fits: programName, builtin: true},
		// Names, sizes, dates.
		"ls": {operands: here, flags: "1aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ", long: `all almost-all color? classify? directory
			group-directories-first human-readable si inode ignore= hide= format= full-time no-group numeric-uid-gid recursive reverse size sort=
			time= time-style= indicator-style= file-type literal quote-name`},
		"tree": {operands: here, flags: "adfiFhDpsugtrv", numbers: "L", texts: "IP", long: "dirsfirst noreport prune filelimit= sort="},
		"du":   {operands: here, flags: "abchHkmsSx0", numbers: "d", long: "all human-readable max-depth= summarize total apparent-size bytes one-file-system"},
		"df":   {operands: paths, flags: "ahHiklPT", long: "human-readable all inodes portability print-type total local"},
		"stat": {operands: paths, least: 1, flags: "Ltx", texts: "c", long: "format= printf= terse dereference"},
		"find": {more: find}, "file": {operands: files, flags: "bhikL", long: "brief mime mime-type mime-encoding dereference no-dereference"},
		"realpath": {operands: paths, flags: "emLPqsz", long: "canonicalize-existing canonicalize-missing no-symlinks quiet"},
		"readlink": {operands: paths, flags: "femnqsvz", long: "canonicalize canonicalize-existing canonicalize-missing no-newline"},
		"basename": {operands: texts, flags: "az", texts: "s"}, "dirname": {operands: texts, flags: "z"},
		"which": {operands: texts, flags: "a", least: 1, fits: programName},
		// Contents.
		"cat":  {operands: files, flags: "AbeEnstTuv", long: "number number-nonblank show-all show-ends show-tabs squeeze-blank show-nonprinting"},
		"head": {operands: files, flags: "qvz", numbers: "nc", digits: true, long: "lines= bytes= quiet silent verbose"},
		"tail": {operands: files, flags: "qvzr", numbers: "nc", digits: true, long: "lines= bytes= quiet silent verbose"},
		"wc":   {operands: files, flags: "clmwL", long: "lines words bytes chars max-line-length"},
		"nl":   {operands: files, flags: "p", numbers: "ilvw", texts: "bdfhns"}, "tac": {operands: files}, "rev": {operands: files},
		"fold": {operands: files, flags: "bs", numbers: "w"}, "column": {operands: files, flags: "tx", numbers: "c", texts: "s"},
		"cut":  {operands: files, flags: "snz", texts: "dfcb", long: "delimiter= fields= characters= bytes= only-delimited output-delimiter= complement"},
		"tr":   {operands: texts, least: 1, most: 2, flags: "cCds", long: "complement delete squeeze-repeats truncate-set1"},
		"sort": {operands: files, flags: "bdfghiMnRrVcCmsuz", texts: "kt", long: "reverse numeric-sort human-numeric-sort version-sort unique key= field-separator= ignore-case stable check"},
		"uniq": {operands: files, most: 1, flags: "cdDiuz", numbers: "fsw", long: "count repeated unique ignore-case"},
		"comm": {operands: files, least: 2, most: 2, flags: "123", long: "check-order nocheck-order output-delimiter= total"},
		"cmp":  {operands: files, least: 2, most: 2, flags: "bls", numbers: "n", long: "print-bytes silent quiet verbose"},
		"diff": {operands: trees, least: 2, most: 2, flags: "abBcdeiNqrstuwyEZp", numbers: "UCW", digits: true, long: `brief unified? context? ignore-all-space
			ignore-space-change ignore-blank-lines ignore-case side-by-side width= suppress-common-lines color? label= text minimal recursive
			report-identical-files`},
		"od": {operands: files, flags: "bcdosxv", numbers: "jN", texts: "At"}, "hexdump": {operands: files, flags: "bcCdovx", numbers: "ns"},
		"paste": {operands: files, flags: "s", texts: "d"}, "cksum": {operands: files},
		"md5sum": sums, "sha1sum": sums, "sha256sum": sums, "sha512sum": sums,
		"grep": grep, "egrep": grep, "fgrep": grep,
		"rg": {operands: patterns, more: search, flags: "FHIiNnaclopqsSvwxUP0.u", numbers: "ABCmMd", texts: "egrtT", long: `fixed-strings with-filename no-filename
			ignore-case smart-case case-sensitive line-number no-line-number count count-matches files files-with-matches files-without-match
			glob= iglob= invert-match word-regexp line-regexp only-matching multiline pcre2 regexp= after-context= before-context= context=
			max-count= max-columns= max-depth= type= type-not= heading no-heading color= sort= sortr= stats trim vimgrep json quiet
			replace= column null no-messages hidden unrestricted no-ignore no-ignore-vcs no-config`},
		"sed": {operands: patterns, flags: "nE", texts: "e", fits: sedScript, long: "quiet silent regexp-extended"},
		"jq":  {operands: patterns, flags: "rcMS", fits: jqPath, long: "raw-output compact-output sort-keys monochrome-output"},
		// The machine.
		"uname": {flags: "asnrvmpio"}, "whoami": {}, "nproc": {}, "uptime": {}, "hostname": {}, "arch": {}, "id": {flags: "gGnru"},
		"date":  {operands: texts, most: 1, fits: `^\+`, flags: "uR", long: "utc iso-8601? rfc-3339="},
		"sleep": {operands: texts, least: 1, fits: digits}, "seq": {operands: texts, least: 1, fits: digits, flags: "w", texts: "s"},
		"git": {more: git}, "go": {more: goVersion},
	}
	for _, name := range []string{"bash", "gcc", "make", "python3", "node"} {
		all[name] = entry{more: version}
	}
	return maps.Clone(all)
})

// format is the first operand of printf.
func format(g given) ([]Effect, string) {
	if len(g.operands) == 0 || g.dashes >= 0 || g.operands[0].Glob || !matches(plainFormat, g.operands[0].Text) {
		return nil, "a format of printf is not known to be harmless"
	}
	return nil, ""
}
