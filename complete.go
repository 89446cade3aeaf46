package weir

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser"
)

// Completion is what may stand at a place in a text.
type Completion struct {
	// Start is the byte offset of the word that is completed: Items take the place of text[Start:pos].
	Start int
	// Items begin with text[Start:pos], keywords and functions in the case in which it was typed. They are sorted, each once.
	Items []string
}

// Complete says how the word before byte offset pos of a text can be completed: with keywords, functions, tables, columns of the tables that the
// statement names, options of connectors and formats, settings, files. Column names may take a look at a file (inferred schemas): ctx limits it.
func (db *DB) Complete(ctx context.Context, text string, pos int) Completion {
	pos = min(max(pos, 0), len(text))
	begin, end := statementAt(text, pos)
	before, open := scanTokens(text[begin:pos])
	c := completer{ctx: ctx, db: db, before: before, set: map[string]bool{}}
	out := Completion{Start: begin + open.start}
	c.prefix = text[out.Start:pos]
	switch open.kind {
	case tokenComment:
	case tokenString:
		c.quote = '\''
		c.inString()
	default:
		c.statement, _ = scanTokens(text[begin:end] + " ")
		if open.kind == tokenName {
			c.quote = '`'
			behind, _ := scanTokens(text[pos:end] + " ")
			c.statement = append(slices.Clone(before), behind...)
		}
		c.inCode()
	}
	for item := range c.set {
		out.Items = append(out.Items, item)
	}
	sort.Strings(out.Items)
	return out
}

// statementAt returns the bounds of the statement around pos.
func statementAt(text string, pos int) (begin, end int) {
	begin, end = 0, len(text)
	for _, st := range Split(text).Statements {
		if st.Next <= pos {
			if begin = st.Next; strings.HasSuffix(text[:st.Next], ";") || st.Next < len(text) {
				continue
			}
			return st.Offset, end // the unfinished statement, with blanks behind it
		}
		if st.Offset > pos {
			return begin, pos
		}
		return st.Offset, st.Next
	}
	return begin, end
}

type tokenKind uint8

const (
	tokenNone tokenKind = iota
	tokenWord
	tokenName   // `quoted`
	tokenString // 'quoted'
	tokenComment
	tokenOp
)

// token is a token of the completer: coarse, since the text is unfinished.
type token struct {
	kind  tokenKind
	text  string // without quotes
	start int    // behind the opening quote for the open token
	up    string // words in upper case, operators as they are
}

// scanTokens cuts a text into tokens. open is the token that the text ends in: a word (maybe empty), a string, a name or a comment without its end.
func scanTokens(s string) (list []token, open token) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += n
		case r == '\'' || r == '`':
			kind := tokenString
			if r == '`' {
				kind = tokenName
			}
			j, text, closed := scanQuoted(s, i+1, byte(r))
			if !closed {
				return list, token{kind: kind, text: text, start: i + 1}
			}
			list = append(list, token{kind: kind, text: text, start: i})
			i = j
		case strings.HasPrefix(s[i:], "--"):
			j := strings.IndexByte(s[i:], '\n')
			if j < 0 {
				return list, token{kind: tokenComment, start: len(s)}
			}
			i += j
		case strings.HasPrefix(s[i:], "/*") && !strings.HasPrefix(s[i:], "/*+") && !strings.HasPrefix(s[i:], "/*weir"):
			j := strings.Index(s[i:], "*/")
			if j < 0 {
				return list, token{kind: tokenComment, start: len(s)}
			}
			i += j + 2
		case isWordRune(r):
			j := i
			for j < len(s) {
				r, n := utf8.DecodeRuneInString(s[j:])
				if !isWordRune(r) {
					break
				}
				j += n
			}
			if j == len(s) {
				return list, token{kind: tokenWord, text: s[i:], start: i}
			}
			list = append(list, token{kind: tokenWord, text: s[i:j], start: i, up: strings.ToUpper(s[i:j])})
			i = j
		default:
			list = append(list, token{kind: tokenOp, text: s[i : i+n], start: i, up: s[i : i+n]})
			i += n
		}
	}
	return list, token{kind: tokenWord, start: len(s)}
}

func scanQuoted(s string, i int, quote byte) (next int, text string, closed bool) {
	var sb strings.Builder
	for ; i < len(s); i++ {
		if s[i] != quote {
			sb.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			sb.WriteByte(quote)
			i++
			continue
		}
		return i + 1, sb.String(), true
	}
	return i, sb.String(), false
}

func isWordRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

type completer struct {
	ctx       context.Context
	db        *DB
	before    []token // complete tokens before the word
	statement []token // all of the statement, for the tables that it names
	prefix    string  // what was typed of the word
	quote     byte    // the word stands in this quote
	set       map[string]bool
}

// back returns the n-th token before the word, from 1; a zero token before the first.
func (c *completer) back(n int) token {
	if n > len(c.before) {
		return token{}
	}
	return c.before[len(c.before)-n]
}

// words offers keywords and functions, in the case of what was typed.
func (c *completer) words(words ...string) {
	lower := c.prefix != "" && c.prefix == strings.ToLower(c.prefix)
	for _, w := range words {
		if len(w) < len(c.prefix) || !strings.EqualFold(w[:len(c.prefix)], c.prefix) || c.quote != 0 {
			continue
		}
		if lower {
			w = strings.ToLower(w)
		}
		if strings.HasPrefix(w, c.prefix) {
			c.set[w] = true
		}
	}
}

// name offers a name, in backticks where it needs them.
func (c *completer) name(n string) {
	switch {
	case c.quote == '`':
		n = strings.ReplaceAll(n, "`", "``") + "`"
	case !plainName(n):
		n = "`" + strings.ReplaceAll(n, "`", "``") + "`"
	}
	if strings.HasPrefix(n, c.prefix) {
		c.set[n] = true
	}
}

func plainName(n string) bool {
	for i, r := range n {
		if !isWordRune(r) || i == 0 && unicode.IsDigit(r) {
			return false
		}
	}
	return n != "" && !parser.IsReserved(n)
}

// quoted offers the content of a string, with its closing quote.
func (c *completer) quoted(s string) {
	s = strings.ReplaceAll(s, "'", "''")
	if strings.HasPrefix(s, c.prefix) {
		c.set[s+"'"] = true
	}
}

func (c *completer) inString() {
	prev := c.back(1)
	switch {
	case prev.up == "SET" || prev.up == "RESET":
		for _, s := range settings {
			c.quoted(s.Key)
		}
	case prev.up == "=" && c.back(3).up == "SET":
		if s := findSetting(c.back(2).text); s != nil {
			c.values(s.Type)
		}
	case c.inWith():
		c.option()
	case prev.up == "FROM" || prev.up == "JOIN" || prev.up == "INTO" || prev.up == "TABLE" || prev.up == "DESCRIBE" || prev.up == "DESC" ||
		prev.up == "=" && strings.HasSuffix(c.back(2).text, "path"):
		for _, f := range completeFiles(c.prefix) {
			if strings.HasSuffix(f, string(filepath.Separator)) {
				c.set[f] = true
			} else {
				c.quoted(f)
			}
		}
	}
}

// values offers the values of a setting or option: those of a|b, true and false.
func (c *completer) values(kind string) {
	if kind == "boolean" {
		kind = "true|false"
	}
	if strings.Contains(kind, "|") {
		for _, v := range strings.Split(kind, "|") {
			c.quoted(strings.TrimSpace(v))
		}
	}
}

// inWith reports whether the place is inside the parentheses of WITH (...).
func (c *completer) inWith() bool {
	depth := 0
	for i := len(c.before) - 1; i >= 0; i-- {
		switch c.before[i].up {
		case ")":
			depth++
		case "(":
			if depth == 0 {
				return i > 0 && (c.before[i-1].up == "WITH" || c.before[i-1].up == "OPTIONS" || c.before[i-1].up == "SET")
			}
			depth--
		}
	}
	return false
}

// option offers keys and values in WITH (...).
func (c *completer) option() {
	given := map[string]string{}
	for i := 0; i+2 < len(c.before); i++ {
		if c.before[i].kind == tokenString && c.before[i+1].up == "=" {
			given[c.before[i].text] = c.before[i+2].text
		}
	}
	if c.back(1).up == "=" {
		key := c.back(2).text
		switch {
		case key == "connector":
			for name := range c.db.connectors {
				if name != goConnector {
					c.quoted(name)
				}
			}
		case key == "format" || strings.HasSuffix(key, ".format"):
			for name := range c.db.formats {
				c.quoted(name)
			}
		case key == "path":
			for _, f := range completeFiles(c.prefix) {
				if strings.HasSuffix(f, string(filepath.Separator)) {
					c.set[f] = true
				} else {
					c.quoted(f)
				}
			}
		default:
			if o := c.db.findOption(key, given); o != "" {
				c.values(o)
			}
		}
		return
	}
	for _, k := range c.db.optionKeys(given) {
		if _, ok := given[k]; !ok {
			c.quoted(k)
		}
	}
}

// optionKeys lists the options that a table with the given ones takes.
func (db *DB) optionKeys(given map[string]string) []string {
	keys := []string{"connector"}
	if conn := db.connectors[given["connector"]]; conn != nil {
		for _, o := range conn.Options() {
			keys = append(keys, o.Name)
		}
	}
	if f := db.formats[given["format"]]; f != nil {
		for _, o := range f.Options() {
			keys = append(keys, f.Name()+"."+o.Name)
		}
	}
	return keys
}

// findOption returns the type of an option, or "".
func (db *DB) findOption(key string, given map[string]string) string {
	if conn := db.connectors[given["connector"]]; conn != nil {
		for _, o := range conn.Options() {
			if o.Name == key {
				return o.Type
			}
		}
	}
	if f := db.formats[given["format"]]; f != nil {
		for _, o := range f.Options() {
			if f.Name()+"."+o.Name == key {
				return o.Type
			}
		}
	}
	return ""
}

// completeFiles lists files and folders (with a separator behind) whose path begins with prefix. Hidden ones must be asked for.
func completeFiles(prefix string) []string {
	dir, base := filepath.Split(prefix)
	from := dir
	if from == "" {
		from = "."
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" {
			continue
		}
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		out = append(out, dir+name)
	}
	return out
}

var statementWords = []string{"SELECT", "WITH", "VALUES", "INSERT", "CREATE", "DROP", "ALTER", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "RESET", "USE",
	"EXECUTE", "BEGIN", "STOP", "TRUNCATE"}

// followers are the words that stand behind the words that begin statements.
var followers = map[string][]string{
	"SHOW":      {"TABLES", "VIEWS", "DATABASES", "CATALOGS", "COLUMNS", "FUNCTIONS", "JOBS", "CREATE", "CURRENT", "MODULES"},
	"CREATE":    {"TABLE", "TEMPORARY", "VIEW", "DATABASE", "CATALOG", "FUNCTION"},
	"TEMPORARY": {"TABLE", "VIEW", "FUNCTION"},
	"DROP":      {"TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION", "TEMPORARY"},
	"ALTER":     {"TABLE", "VIEW", "DATABASE", "FUNCTION"},
	"EXPLAIN":   {"SELECT", "INSERT", "PLAN", "ESTIMATED_COST", "CHANGELOG_MODE"},
	"INSERT":    {"INTO", "OVERWRITE"},
	"EXECUTE":   {"STATEMENT"},
	"STOP":      {"JOB"},
	"CURRENT":   {"CATALOG", "DATABASE"},
}

var tableFunctions = []string{"TUMBLE(", "HOP(", "CUMULATE(", "TABLE(", "LATERAL", "UNNEST("}

func (c *completer) inCode() {
	prev := c.back(1)
	first := token{}
	if len(c.before) > 0 {
		first = c.before[0]
	}
	switch {
	case len(c.before) == 0:
		c.words(statementWords...)
	case prev.up == ".":
		c.afterDot()
	case first.up == "USE" && prev.up == "CATALOG", first.up == "DROP" && prev.up == "CATALOG", prev.up == "CATALOG" && first.up == "DESCRIBE":
		for _, n := range c.db.catalogs.ListCatalogs() {
			c.name(n)
		}
	case prev.up == "USE", prev.up == "DATABASE" && first.up != "CREATE" && first.up != "SHOW":
		c.databases()
		if prev.up == "USE" {
			c.words("CATALOG")
		}
	case len(c.before) == 1 && followers[prev.up] != nil && prev.up != "TEMPORARY", (first.up == "CREATE" || first.up == "DROP") && prev.up == "TEMPORARY",
		first.up == "SHOW" && (prev.up == "CREATE" || prev.up == "CURRENT"):
		c.words(followers[prev.up]...)
		if first.up == "SHOW" && prev.up == "CREATE" {
			c.words("TABLE", "VIEW")
		}
	case c.expectsTable():
		c.tables()
		if prev.up == "FROM" || prev.up == "JOIN" || prev.up == "," {
			c.words(tableFunctions...)
		}
		if prev.up == "TABLE" && (first.up == "CREATE" || first.up == "DROP") {
			c.words("IF")
		}
		if prev.up == "," { // SELECT a, ... FROM: a comma of another list
			c.expression()
		}
	default:
		c.expression()
	}
}

// expectsTable reports whether the name of a table stands here.
func (c *completer) expectsTable() bool {
	switch prev := c.back(1); prev.up {
	case "FROM", "JOIN", "INTO", "DESCRIBE", "DESC", "TABLE", "VIEW", "OVERWRITE", "EXISTS":
		return prev.up != "EXISTS" || c.before[0].up == "DROP" || c.before[0].up == "ALTER"
	case ",":
		return c.clause() == "FROM"
	}
	return false
}

// clause returns the last word that begins a clause, at this depth of parentheses.
func (c *completer) clause() string {
	depth := 0
	for i := len(c.before) - 1; i >= 0; i-- {
		switch up := c.before[i].up; up {
		case ")":
			depth++
		case "(":
			if depth--; depth < 0 {
				return ""
			}
		case "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "VALUES", "SET", "WITH":
			if depth == 0 {
				return up
			}
		}
	}
	return ""
}

func (c *completer) tables() {
	objects, _ := c.db.catalogs.List()
	for _, o := range objects {
		c.name(objectPath(o).Name)
	}
	c.databases()
	for _, n := range c.db.catalogs.ListCatalogs() {
		if cat, _ := c.db.catalogs.Current(); n != cat {
			c.name(n)
		}
	}
}

func objectPath(o catalog.Object) catalog.Path {
	switch o := o.(type) {
	case *catalog.Table:
		return o.Path
	case *catalog.View:
		return o.Path
	}
	return catalog.Path{}
}

func (c *completer) databases() {
	names, _ := c.db.catalogs.ListDatabases("")
	_, current := c.db.catalogs.Current()
	for _, n := range names {
		if n != current || len(names) == 1 && c.back(1).up == "USE" {
			c.name(n)
		}
	}
}

// expression offers all that may stand in an expression, and the words behind it.
func (c *completer) expression() {
	for _, t := range c.namedTables() {
		for _, col := range c.columns(t.path) {
			c.name(col)
		}
		if t.alias != "" {
			c.name(t.alias)
		}
	}
	if c.quote != 0 {
		return
	}
	if c.prefix == "" && len(c.set) > 0 {
		return // all keywords and functions would bury the columns
	}
	functions := catalog.Functions()
	for _, f := range c.db.userFunctions() {
		functions = append(functions, f)
	}
	for _, f := range functions {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if !plainFunction(n) {
				continue
			}
			if f.Syntax == "" || strings.Contains(f.Syntax, "(") {
				n += "("
			}
			c.words(n)
		}
	}
	c.words(parser.Keywords()...)
}

func plainFunction(n string) bool {
	for _, r := range n {
		if !isWordRune(r) {
			return false
		}
	}
	return n != ""
}

// namedTable is a table that the statement names.
type namedTable struct {
	path  []string
	alias string
}

// namedTables lists the tables behind FROM, JOIN, INTO, TABLE and the commas of FROM.
func (c *completer) namedTables() []namedTable {
	var out []namedTable
	toks := c.statement
	in := map[int]bool{} // by depth: in a FROM list
	depth := 0
	for i := 0; i < len(toks); i++ {
		starts := false
		switch toks[i].up {
		case "(":
			depth++
			in[depth] = false
		case ")":
			depth--
		case "FROM", "JOIN", "INTO", "TABLE", "DESCRIBE", "VIEW":
			starts = true
			in[depth] = toks[i].up == "FROM"
		case "WHERE", "GROUP", "ORDER", "HAVING", "SELECT", "UNION", "ON":
			in[depth] = false
		case ",":
			starts = in[depth]
		}
		if !starts {
			continue
		}
		var t namedTable
		j := i + 1
		for j < len(toks) && (toks[j].kind == tokenWord || toks[j].kind == tokenName || toks[j].kind == tokenString) {
			t.path = append(t.path, toks[j].text)
			j++
			if j >= len(toks) || toks[j].up != "." {
				break
			}
			j++
		}
		if len(t.path) == 0 || toks[i+1].kind == tokenWord && parser.IsReserved(toks[i+1].text) {
			continue
		}
		if toks[i+1].kind == tokenString {
			t.path[0] = "'" + strings.ReplaceAll(t.path[0], "'", "''") + "'"
		}
		if j < len(toks) && toks[j].up == "AS" {
			j++
		}
		if j < len(toks) && (toks[j].kind == tokenName || toks[j].kind == tokenWord && !parser.IsReserved(toks[j].text)) {
			t.alias = toks[j].text
		}
		out = append(out, t)
	}
	return out
}

// columns lists the columns of a table or file as DESCRIBE gives them.
func (c *completer) columns(path []string) []string {
	var parts []string
	for _, p := range path {
		if strings.HasPrefix(p, "'") {
			parts = append(parts, p)
		} else {
			parts = append(parts, "`"+strings.ReplaceAll(p, "`", "``")+"`")
		}
	}
	res, err := c.db.ExecuteWith(c.ctx, "DESCRIBE "+strings.Join(parts, "."), ExecOptions{})
	if err != nil || res.Query == nil {
		return nil
	}
	var names []string
	for row, err := range res.Query.All() {
		if err != nil {
			return names
		}
		if name, ok := row.Values[0].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// afterDot offers columns of a table or alias, tables of a database, databases of a catalog.
func (c *completer) afterDot() {
	var path []string
	for i := len(c.before) - 1; i > 0 && c.before[i].up == "."; i -= 2 {
		path = append(path, c.before[i-1].text)
	}
	slices.Reverse(path)
	if len(path) == 0 {
		return
	}
	for _, t := range c.namedTables() {
		if t.alias == path[len(path)-1] || slices.Equal(t.path, path) || t.alias == "" && t.path[len(t.path)-1] == path[len(path)-1] {
			for _, col := range c.columns(t.path) {
				c.name(col)
			}
		}
	}
	objects, _ := c.db.catalogs.List(path...)
	for _, o := range objects {
		c.name(objectPath(o).Name)
	}
	if len(path) == 1 {
		names, _ := c.db.catalogs.ListDatabases(path[0])
		for _, n := range names {
			c.name(n)
		}
	}
}

// Nearest returns the name that word was most likely meant to be, or "".
func Nearest(word string, names []string) string { return catalog.Nearest(word, names) }
