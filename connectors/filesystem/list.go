package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// file is a file of the table.
type file struct {
	path  string
	size  int64
	mtime time.Time
	parts map[string]string // values of partition folders, as in the path
}

// list finds the files, ordered by path. Nothing there is an error, but not in follow mode.
func (t *table) list() ([]file, error) {
	if t.path == "-" {
		return []file{{path: "-", size: -1}}, nil
	}
	var out []file
	roots := []string{t.path}
	_, err := os.Stat(t.path)
	if err != nil && strings.ContainsAny(t.path, "*?[") {
		if roots, err = filepath.Glob(t.path); err != nil {
			return nil, fmt.Errorf("option 'path': the pattern '%s' is malformed", t.path)
		}
		if len(roots) == 0 && t.follow == 0 {
			return nil, fmt.Errorf("no file matches the pattern '%s' (working folder %s)", t.path, workingFolder())
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		if t.follow > 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("no such file or folder: '%s' (working folder %s)", t.path, workingFolder())
	} else if err != nil {
		return nil, fmt.Errorf("cannot read '%s': %w", t.path, err)
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				if path != root && errors.Is(err, fs.ErrNotExist) {
					return nil // removed meanwhile
				}
				return err
			}
			if path != root && (e.Name()[0] == '.' || e.Name()[0] == '_') {
				if e.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if e.IsDir() {
				return nil
			}
			if t.pattern != nil && !t.pattern.MatchString(path) {
				abs, err := filepath.Abs(path)
				if err != nil {
					return err
				}
				if !t.pattern.MatchString(abs) {
					return nil
				}
			}
			info, err := os.Stat(path) // follows links
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if info.IsDir() || !info.Mode().IsRegular() && path != root {
				return nil
			}
			out = append(out, file{path: path, size: info.Size(), mtime: info.ModTime(), parts: partitionValues(path)})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read '%s': %w", root, err)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	for i := 1; i < len(out); i++ { // a pattern may match a folder and a file in it
		if out[i].path == out[i-1].path {
			out = append(out[:i], out[i+1:]...)
			i--
		}
	}
	return out, nil
}

// partitionValues reads name=value folders of a path.
func partitionValues(path string) map[string]string {
	var m map[string]string
	for _, dir := range strings.Split(filepath.ToSlash(filepath.Dir(path)), "/") {
		name, value, ok := strings.Cut(dir, "=")
		if !ok {
			continue
		}
		if m == nil {
			m = map[string]string{}
		}
		m[unescapePath(name)] = unescapePath(value)
	}
	return m
}

func unescapePath(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// escapePath escapes what Hive escapes in folder names.
func escapePath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || c == 0x7f || strings.IndexByte("\"#%'*/:=?\\{[]^", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// compressionOf tells the compression of a file by its suffix, "" for none.
func compressionOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz", ".gzip":
		return "gzip"
	case ".zst", ".zstd":
		return "zstd"
	case ".bz2":
		return "bzip2"
	case ".xz", ".lz4", ".snappy", ".sz", ".br", ".deflate", ".zip", ".lzo", ".7z":
		return "unknown"
	}
	return ""
}
