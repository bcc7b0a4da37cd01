package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// siteModules returns the packages that the site's lock file names, which are kept
// between runs.
func siteModules(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile("../site/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(debs()), fmt.Sprintf("site-%x", sha256.Sum256(lock))[:21])
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		return filepath.Join(dir, "node_modules")
	}
	manifest, err := os.ReadFile("../site/package.json")
	if err := errors.Join(err, write(filepath.Join(dir, "package.json"), manifest, 0o644), write(filepath.Join(dir, "package-lock.json"), lock, 0o644)); err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	if err := write(filepath.Join(dir, "done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node_modules")
}

// The site is built; each page is in it and in its menu, each link leads somewhere, and
// its search finds words.
func TestSite(t *testing.T) {
	modules, out := siteModules(t), filepath.Join(t.TempDir(), "site")
	run(
		t,
		"../site",
		[]string{"SITE_OUT=" + out, "SITE_MODULES=" + modules},
		"node",
		filepath.Join(modules, "vitepress/bin/vitepress.js"),
		"build",
	)
	pages := map[string]string{} // by path from the site's root
	err := filepath.WalkDir(out, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(name)
		pages[strings.TrimPrefix(name, out)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	start := pages["/index.html"]
	err = filepath.WalkDir("../docs", func(name string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		page := strings.TrimSuffix(strings.TrimPrefix(name, ".."), ".md") + ".html"
		page = strings.Replace(page, "/README.html", "/index.html", 1)
		if pages[page] == "" {
			t.Errorf("%s is no page", name)
		}
		if !strings.Contains(page, "/adr/") &&
			!strings.Contains(start, `href="`+strings.TrimSuffix(page, "index.html")) {
			t.Errorf("%s is not in the menu", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range pages {
		for _, link := range deadLinks(page, text, pages, out) {
			t.Errorf("%s links to %s", page, link)
		}
	}
	const search = `import MiniSearch from "minisearch"; import { readFileSync, readdirSync } from "node:fs";
const dir = process.argv[1] + "/assets/chunks/", name = readdirSync(dir).find((n) => n.startsWith("@localSearchIndex"));
const index = (await import(dir + name)).default;
const found = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], storeFields: ["title", "titles"] }).search(process.argv[2]);
console.log(found.map((f) => f.id).join("\n"));`
	found := run(
		t, filepath.Dir(modules), nil, "node", "--input-type=module", "-e", search, out, "interrupt_grace subreapers",
	)
	if !strings.Contains(found, "/docs/contract.html") && !strings.Contains(found, "/docs/processes.html") {
		t.Errorf("the search finds %q", found)
	}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	local = regexp.MustCompile(`^([a-z]+:|//)`)
)

// deadLinks returns the links of a page without a target, fragments included.
func deadLinks(page, text string, pages map[string]string, out string) (dead []string) {
	for _, found := range hrefs.FindAllStringSubmatch(text, -1) {
		link := strings.ReplaceAll(found[1], "&amp;", "&")
		if local.MatchString(link) {
			continue
		}
		target, fragment, _ := strings.Cut(link, "#")
		switch {
		case target == "":
			target = page
		case !strings.HasPrefix(target, "/"):
			target = path.Join(path.Dir(page), target)
		}
		if strings.HasSuffix(target, "/") {
			target += "index.html"
		}
		if _, err := os.Stat(filepath.Join(out, target)); err != nil ||
			fragment != "" && !strings.Contains(pages[target], `id="`+fragment+`"`) {
			dead = append(dead, link)
		}
	}
	return dead
}
