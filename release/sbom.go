package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists, for each program, the modules that the linker put into it, as the
// program itself records them.
func (r *release) sbom() error {
	for _, binaries := range [][]binary{r.binaries, r.fleet, r.temporal} {
		modules, err := r.modules(binaries)
		if err == nil {
			err = r.programSBOM(binaries, modules)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) programSBOM(binaries []binary, modules []module) error {
	for _, b := range binaries {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		main := cdx.Component{
			BOMRef: b.program, Type: cdx.ComponentTypeApplication, Name: b.program, Version: r.version,
			PackageURL: "pkg:golang/" + info.Main.Path + "@v" + r.version, Licenses: licence("Apache-2.0"),
		}
		components := []cdx.Component{{
			BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
			PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licenses: licence("BSD-3-Clause"),
		}}
		for _, d := range info.Deps {
			if d.Path == mainModule {
				continue
			}
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
				BOMRef:     purl,
				Type:       cdx.ComponentTypeLibrary,
				Name:       d.Path,
				Version:    d.Version,
				PackageURL: purl,
				Licenses:   licence(name),
				Properties: &[]cdx.Property{{Name: "go:sum", Value: d.Sum}},
			})
		}
		if err := r.bom(
			fmt.Sprintf("%s_%s_%s_%s", b.program, r.version, b.system, b.machine), main, components,
		); err != nil {
			return err
		}
	}
	return nil
}

// toolsSBOM lists the contents of an image with Debian's packages, besides the program.
func (r *release) toolsSBOM(b binary, d *debian) error {
	main := cdx.Component{
		BOMRef:     "settle",
		Type:       cdx.ComponentTypeContainer,
		Name:       "settle",
		Version:    r.version,
		Licenses:   licence("Apache-2.0"),
		Properties: &[]cdx.Property{{Name: "debian:indexes:sha256", Value: d.digest}},
	}
	var components []cdx.Component
	for _, p := range d.packages {
		purl := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", p.name, url.PathEscape(p.version), b.machine)
		var licences cdx.Licenses
		for _, name := range p.licences {
			licences = append(licences, cdx.LicenseChoice{License: &cdx.License{Name: name}})
		}
		components = append(components, cdx.Component{
			BOMRef:     purl,
			Type:       cdx.ComponentTypeLibrary,
			Name:       p.name,
			Version:    p.version,
			PackageURL: purl,
			Licenses:   &licences,
			Hashes: &[]cdx.Hash{
				{Algorithm: cdx.HashAlgoSHA256, Value: p.sum},
			},
			Properties: &[]cdx.Property{{Name: "debian:source", Value: p.source}},
		})
	}
	return r.bom(fmt.Sprintf("settle_%s_image_tools_%s", r.version, b.machine), main, components)
}

func (r *release) bom(name string, main cdx.Component, components []cdx.Component) error {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &main}
	bom.Components = &components
	return create(r.add(name+".cdx.json"), func(to io.Writer) error {
		e := cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON)
		e.SetPretty(true)
		return e.Encode(bom)
	})
}

func licence(name string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: name}}}
}
