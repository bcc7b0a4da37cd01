package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
)

var (
	//go:embed install.sh
	installer string
	//go:embed settle.rb
	formula string
)

// checksums writes the files that contain checksums of the artifacts: the install script,
// the Homebrew formula and the provenance. It then writes checksums.txt, the list of all
// files of the release. sign signs that list.
func (r *release) checksums() error {
	sums := map[string]string{}
	if err := r.sum(sums, r.artifacts); err != nil {
		return err
	}
	slices.Sort(r.artifacts)
	if err := r.provenance(sums); err != nil {
		return err
	}
	for name, text := range map[string]string{"install.sh": installer, "settle.rb": formula} {
		if err := r.fill(name, text, sums); err != nil {
			return err
		}
	}
	latest, err := json.Marshal(map[string]string{"version": r.version, "files": r.url + "/v" + r.version})
	if err == nil {
		err = os.WriteFile(filepath.Join(r.out, "latest.json"), append(latest, '\n'), 0o644)
	}
	if err != nil {
		return err
	}
	if err := r.sum(sums, []string{"install.sh", "latest.json", "provenance.json", "settle.rb"}); err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(r.out, checksumsFile), []byte(list.String()), 0o644)
}

// sum adds the SHA-256 of files of the release.
func (r *release) sum(sums map[string]string, names []string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return nil
}

// fill writes a template with the release's figures.
func (r *release) fill(name, text string, sums map[string]string) error {
	t, err := template.New(name).Delims("<<", ">>").Parse(text)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Version": r.version, "URL": r.url, "About": about, "Homepage": homepage,
		"Keys": strings.Join(r.keys, "\n"), "Signer": signer,
		"Sum": func(platform string) string { return sums["settle_"+r.version+"_"+platform+".tar.gz"] },
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o644)
}

// provenance writes an in-toto statement (https://in-toto.io/Statement/v1) with a SLSA
// predicate (https://slsa.dev/provenance/v1): which commit and which Go made the files.
// checksums.txt lists it, so that the signature covers it.
func (r *release) provenance(sums map[string]string) error {
	type object = map[string]any
	var subjects []object
	for _, name := range r.artifacts {
		subjects = append(subjects, object{"name": name, "digest": object{"sha256": sums[name]}})
	}
	statement := object{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          homepage + "/tree/main/release",
				"externalParameters": object{"version": r.version},
				"resolvedDependencies": []object{
					{"uri": "git+" + homepage, "digest": object{"gitCommit": r.commit}},
					{"uri": "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")},
				},
			},
			"runDetails": object{"builder": object{"id": homepage + "/tree/main/release"}},
		},
	}
	data, err := json.MarshalIndent(statement, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "provenance.json"), append(data, '\n'), 0o644)
}
