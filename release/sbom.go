package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists, for each program, the modules that the linker put into it, as the
// program itself records them.
func (r *release) sbom() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	for _, b := range r.binaries {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		main := cdx.Component{
			BOMRef: "settle", Type: cdx.ComponentTypeApplication, Name: "settle", Version: r.version,
			PackageURL: "pkg:golang/" + info.Main.Path + "@v" + r.version, Licenses: licence("Apache-2.0"),
		}
		components := []cdx.Component{{
			BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
			PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licenses: licence("BSD-3-Clause"),
		}}
		for _, d := range info.Deps {
			n := slices.IndexFunc(modules, func(m module) bool { return m.Path == d.Path && m.Version == d.Version })
			if n < 0 {
				return fmt.Errorf("module %s@%s is in the program and not in the list of modules", d.Path, d.Version)
			}
			texts, err := modules[n].licences()
			if err != nil {
				return err
			}
			name := modules[n].licence(texts)
			purl := fmt.Sprintf("pkg:golang/%s@%s", d.Path, d.Version)
			components = append(components, cdx.Component{
				BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: d.Path, Version: d.Version, PackageURL: purl, Licenses: licence(name),
				Properties: &[]cdx.Property{{Name: "go:sum", Value: d.Sum}},
			})
		}
		bom := cdx.NewBOM()
		bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &main}
		bom.Components = &components
		name := fmt.Sprintf("settle_%s_%s_%s.cdx.json", r.version, b.system, b.machine)
		err = create(r.add(name), func(to io.Writer) error {
			e := cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON)
			e.SetPretty(true)
			return e.Encode(bom)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func licence(name string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: name}}}
}
