package shell

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-sql/weir"
)

// historyLimit is how many entries are kept.
const historyLimit = 1000

// history is what was typed, oldest first; an entry may have several lines. In its file an entry is one line: a line break is \n, a backslash \\.
// Several shells may append to one file.
type history struct {
	path    string // "" keeps it in memory
	entries []string
}

// historyPath is $WEIR_HISTORY (empty: no file), or weir/history in the user's folder for configuration.
func historyPath() string {
	if p, ok := os.LookupEnv("WEIR_HISTORY"); ok {
		return p
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "weir", "history")
}

// loadHistory reads a history. A file that is not there is an empty history; after any other error the history is kept in memory.
func loadHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		h.path = ""
		return h, err
	}
	defer f.Close()
	lines := 0
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		lines++
		if e := unescapeEntry(sc.Text()); e != "" {
			h.remember(e)
		}
	}
	if err := sc.Err(); err != nil {
		h.path = ""
		return h, err
	}
	if lines > 2*historyLimit {
		return h, h.rewrite()
	}
	return h, nil
}

// remember adds an entry in memory; the same one twice in a row is one.
func (h *history) remember(entry string) bool {
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return false
	}
	h.entries = append(h.entries, entry)
	if n := len(h.entries) - historyLimit; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
	return true
}

// add stores an entry, unless it begins with a blank or has a secret in it.
func (h *history) add(entry string) error {
	entry = strings.TrimRight(entry, " \t\r\n")
	if entry == "" || entry[0] == ' ' || entry[0] == '\t' || hasSecret(entry) || !h.remember(entry) || h.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(escapeEntry(entry) + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// rewrite leaves only the entries in memory in the file.
func (h *history) rewrite() error {
	var sb strings.Builder
	for _, e := range h.entries {
		sb.WriteString(escapeEntry(e) + "\n")
	}
	tmp, err := os.CreateTemp(filepath.Dir(h.path), "history-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.WriteString(sb.String()); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), h.path)
}

func escapeEntry(s string) string {
	return strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r").Replace(s)
}

func unescapeEntry(s string) string {
	return strings.NewReplacer("\\\\", "\\", "\\n", "\n", "\\r", "\r").Replace(s)
}

// secret finds an option or setting that is not for others' eyes, with its value: 'properties.sasl.jaas.config' = '...'.
var secret = regexp.MustCompile(`(?i)[\w.-]*(password|passwd|secret|jaas\.config|token|credential|access[._-]?key|api[._-]?key)[\w.-]*'?\s*(=|\s)\s*'?\S`)

// hasSecret reports whether a statement gives a secret to an option or a setting.
func hasSecret(s string) bool {
	for _, m := range secret.FindAllString(s, -1) {
		// WITH ('password' = 'x'), SET 'password' = 'x', \set password x; a column called token is no secret.
		if strings.Contains(m, "'") || strings.HasPrefix(strings.TrimSpace(s), "\\set") {
			return true
		}
	}
	return weir.HideSecrets(s) != s
}
