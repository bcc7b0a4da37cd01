package policy

import (
	"regexp"
	"strings"
	"sync"
)

// harmlessCommands are those that may run without asking, with the options
// and operands that are known to change nothing and to start nothing. It is
// documented in docs/config.md.
var harmlessCommands = sync.OnceValue(func() map[string]harmless {
	sums := harmless{grammar: grammar{flags: "btz", long: []string{"binary", "text", "zero"}}, operands: contents}
	grep := harmless{operands: pattern, grammar: grammar{
		flags: "EFGPabcHhiLlnoqsvwxyzZrIT", values: "eABCm", number: true,
		long: words(`extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case word-regexp line-regexp count color?
			colour? files-without-match files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename
			line-number null after-context= before-context= context= text exclude= exclude-dir= include= recursive invert-match`),
	}}
	return map[string]harmless{
		// The shell itself.
		":": {operands: anything}, "true": {operands: anything}, "false": {operands: anything}, "echo": {operands: anything}, "printf": {operands: anything},
		"test": {operands: anything}, "[": {operands: anything}, "exit": {operands: anything}, "return": {operands: anything},
		"break": {operands: some}, "continue": {operands: some}, "shift": {operands: some}, "wait": {grammar: grammar{flags: "n"}, operands: some},
		"pwd": {grammar: grammar{flags: "LP"}, operands: none}, "type": {grammar: grammar{flags: "aftpP"}, operands: some},
		"exec":  {operands: none},
		"set":   {grammar: grammar{flags: "euxfvnhmC", exact: []string{"-o", "+e", "+u", "+x", "+o", "-eo", "-uo", "-eux", "-euo", "-euxo"}}, operands: some, fits: regexp.MustCompile(`^(pipefail|errexit|nounset|xtrace|noglob|noclobber|verbose)$`)},
		"read":  {grammar: grammar{flags: "rs", values: "dnNpt"}, operands: some, fits: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)},
		"unset": {grammar: grammar{flags: "vf"}, operands: some, fits: regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)},
		// Names, sizes, dates.
		"ls": {operands: listed, here: true, grammar: grammar{flags: "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ", values: "IwT", long: words(`all almost-all author
			color? classify? directory group-directories-first human-readable si inode ignore= hide= format= full-time no-group numeric-uid-gid
			recursive reverse size sort= time= time-style= width= indicator-style= file-type literal quote-name`)}},
		"tree":     {operands: listed, here: true, grammar: grammar{flags: "adfiFhDpsugtcrvUSACnx", values: "LIP", long: words("dirsfirst noreport gitignore prune filelimit= sort=")}},
		"du":       {operands: listed, here: true, grammar: grammar{flags: "abcDhHkmsSx0l", values: "dt", long: words("all human-readable max-depth= summarize total apparent-size bytes one-file-system")}},
		"df":       {operands: listed, grammar: grammar{flags: "ahHiklPT", long: words("human-readable all inodes portability print-type total local")}},
		"stat":     {operands: listed, grammar: grammar{flags: "LftxqF", values: "c", long: words("format= printf= terse dereference file-system")}},
		"file":     {operands: listed, grammar: grammar{flags: "bhikLrNs", long: words("brief mime mime-type mime-encoding dereference no-dereference")}},
		"realpath": {operands: listed, grammar: grammar{flags: "emLPqsz", long: words("canonicalize-existing canonicalize-missing no-symlinks quiet relative-to= relative-base=")}},
		"readlink": {operands: listed, grammar: grammar{flags: "femnqsvz", long: words("canonicalize canonicalize-existing canonicalize-missing no-newline")}},
		"basename": {operands: some, grammar: grammar{flags: "az", values: "s"}}, "dirname": {operands: some, grammar: grammar{flags: "z"}},
		"which": {operands: some, grammar: grammar{flags: "a"}},
		// Contents.
		"cat":  {operands: contents, grammar: grammar{flags: "AbeEnstTuv", long: words("number number-nonblank show-all show-ends show-tabs squeeze-blank show-nonprinting")}},
		"head": {operands: contents, grammar: grammar{flags: "qvz", values: "nc", number: true, long: words("lines= bytes= quiet silent verbose")}},
		"tail": {operands: contents, grammar: grammar{flags: "qvzr", values: "nc", number: true, long: words("lines= bytes= quiet silent verbose")}},
		"wc":   {operands: contents, grammar: grammar{flags: "clmwL", long: words("lines words bytes chars max-line-length total=")}},
		"nl":   {operands: contents, grammar: grammar{flags: "p", values: "bdfhilnsvw"}}, "tac": {operands: contents}, "rev": {operands: contents},
		"fold": {operands: contents, grammar: grammar{flags: "bs", values: "w"}}, "column": {operands: contents, grammar: grammar{flags: "tx", values: "sc"}},
		"cut":  {operands: contents, grammar: grammar{flags: "snz", values: "dfcb", long: words("delimiter= fields= characters= bytes= only-delimited output-delimiter= complement")}},
		"tr":   {operands: some, grammar: grammar{flags: "cCdst", long: words("complement delete squeeze-repeats truncate-set1")}},
		"sort": {operands: contents, grammar: grammar{flags: "bdfghiMnRrVcCmsuz", values: "kt", long: words("reverse numeric-sort human-numeric-sort version-sort unique key= field-separator= ignore-case stable check")}},
		"uniq": {operands: contents, most: 1, grammar: grammar{flags: "cdDiuz", values: "fsw", long: words("count repeated unique ignore-case")}},
		"comm": {operands: contents, grammar: grammar{flags: "123z", long: words("check-order nocheck-order output-delimiter= total")}},
		"cmp":  {operands: contents, grammar: grammar{flags: "bls", values: "in", long: words("print-bytes silent quiet verbose")}},
		"diff": {operands: contents, grammar: grammar{flags: "abBcdeiNqsTtuwyEZp", values: "UCIWL", number: true, long: words(`brief unified? context? ignore-all-space
			ignore-space-change ignore-blank-lines ignore-case side-by-side width= suppress-common-lines color? label= text minimal report-identical-files`)}},
		"od":        {operands: contents, grammar: grammar{flags: "bcdosxv", values: "AtNjw"}},
		"md5sum":    sums,
		"sha1sum":   sums,
		"sha256sum": sums,
		"sha512sum": sums,
		"cksum":     {operands: contents},
		"grep":      grep, "egrep": grep, "fgrep": grep,
		"rg": {operands: pattern, here: true, grammar: grammar{flags: "FHIiNnacloqsSvwxUPp", values: "eABCgtTmMrjd", long: words(`fixed-strings with-filename no-filename ignore-case
			smart-case case-sensitive line-number no-line-number count count-matches files files-with-matches files-without-match glob= iglob=
			invert-match word-regexp line-regexp only-matching multiline pcre2 regexp= after-context= before-context= context= max-count=
			max-columns= max-depth= type= type-not= type-list heading no-heading color= sort= sortr= stats trim vimgrep json quiet
			replace= column null no-messages`)}},
		// The machine.
		"uname": {operands: none, grammar: grammar{flags: "asnrvmpio"}}, "whoami": {operands: none}, "nproc": {operands: none}, "uptime": {operands: none},
		"hostname": {operands: none}, "arch": {operands: none}, "id": {operands: none, grammar: grammar{flags: "gGnru"}},
		"date":  {operands: some, fits: regexp.MustCompile(`^\+`), grammar: grammar{flags: "uR", values: "d", long: words("utc date= iso-8601? rfc-3339=")}},
		"sleep": {operands: some}, "seq": {operands: some, grammar: grammar{flags: "w", values: "sf"}},
	}
})

func words(text string) []string { return strings.Fields(text) }
