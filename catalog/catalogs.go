package catalog

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// Where a session starts.
const (
	DefaultCatalog  = "default_catalog"
	DefaultDatabase = "default_database"
)

// Codes of this package's errors.
const (
	CodeUnknownTable    = "WEIR-1101"
	CodeExists          = "WEIR-1105"
	CodeUnknownDatabase = "WEIR-1106"
	CodeNotEmpty        = "WEIR-1107"
	CodeInUse           = "WEIR-1108"
)

// Error is an error about a name. It has no place: the caller knows it.
type Error struct {
	Code, Msg, Hint string
}

// Error gives the message, with the hint behind.
func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Msg + "; " + e.Hint
	}
	return e.Msg
}

func errorf(code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// View is a named query.
type View struct {
	Path      Path
	Temporary bool
	// Schema is the resolved output.
	Schema types.Schema
	Query  *ast.Query
	// Text is the query as written. Names in it are resolved from Catalog and Database, which were current when the view was made.
	Text              string
	Catalog, Database string
	Comment           string
}

// Object is a *Table or a *View.
type Object interface{ path() Path }

func (t *Table) path() Path { return t.Path }
func (v *View) path() Path  { return v.Path }

type database struct {
	comment string
	options []Option
	objects map[string]Object
}

type namespace struct {
	comment   string
	options   []Option
	databases map[string]*database
}

// Catalogs has all names of a session: catalogs, databases, tables and views, and what is current. It is safe for use by several goroutines.
type Catalogs struct {
	mu        sync.RWMutex
	catalogs  map[string]*namespace
	temporary map[Path]Object // shadow permanent objects of the same path
	current   Path            // Catalog and Database
}

var lastID atomic.Int64

// NewID gives a number that no other table of this process has: Table.ID.
func NewID() int64 { return lastID.Add(1) }

// New returns catalogs with default_catalog.default_database.
func New() *Catalogs {
	c := &Catalogs{catalogs: map[string]*namespace{}, temporary: map[Path]Object{}, current: Path{Catalog: DefaultCatalog, Database: DefaultDatabase}}
	c.catalogs[DefaultCatalog] = &namespace{databases: map[string]*database{DefaultDatabase: {objects: map[string]Object{}}}}
	return c
}

// Current returns the current catalog and database.
func (c *Catalogs) Current() (catalog, database string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.current.Catalog, c.current.Database
}

// Qualify completes a name of one to three parts with the given catalog and database.
func Qualify(parts []string, catalog, database string) (Path, error) {
	switch len(parts) {
	case 1:
		return Path{catalog, database, parts[0]}, nil
	case 2:
		return Path{catalog, parts[0], parts[1]}, nil
	case 3:
		return Path{parts[0], parts[1], parts[2]}, nil
	}
	return Path{}, errorf(CodeUnknownTable, "a name has at most three parts: catalog.database.name", "'%s' is no name of a table", strings.Join(parts, "."))
}

// Qualify completes a name with the current catalog and database.
func (c *Catalogs) Qualify(parts []string) (Path, error) {
	cat, db := c.Current()
	return Qualify(parts, cat, db)
}

// Get finds a table or view; temporary ones first.
func (c *Catalogs) Get(p Path) (Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if o, ok := c.temporary[p]; ok {
		return o, nil
	}
	db, err := c.database(p.Catalog, p.Database)
	if err != nil {
		// A name that is no catalog or database may still be meant otherwise; what the user looks for is the table.
		return nil, err
	}
	if o, ok := db.objects[p.Name]; ok {
		return o, nil
	}
	return nil, c.unknown(p, db)
}

// unknown makes the error for a missing table, with what it may have been.
func (c *Catalogs) unknown(p Path, db *database) *Error {
	var names []string
	for n := range db.objects {
		names = append(names, n)
	}
	for q := range c.temporary {
		if q.Catalog == p.Catalog && q.Database == p.Database {
			names = append(names, q.Name)
		}
	}
	hint := ""
	if n := Nearest(p.Name, names); n != "" {
		hint = fmt.Sprintf("did you mean '%s'?", n)
	} else if len(names) == 0 {
		hint = "there are no tables yet: CREATE TABLE makes one, and a file can be read as FROM 'path'"
	}
	where := ""
	if p.Catalog != c.current.Catalog || p.Database != c.current.Database {
		where = fmt.Sprintf(" in %s.%s", p.Catalog, p.Database)
	}
	return errorf(CodeUnknownTable, hint, "table '%s' does not exist%s", p.Name, where)
}

func (c *Catalogs) database(catalog, name string) (*database, error) {
	ns, ok := c.catalogs[catalog]
	if !ok {
		return nil, errorf(CodeUnknownDatabase, didYouMean(catalog, keys(c.catalogs)), "catalog '%s' does not exist", catalog)
	}
	db, ok := ns.databases[name]
	if !ok {
		return nil, errorf(CodeUnknownDatabase, didYouMean(name, keys(ns.databases)), "database '%s' does not exist in catalog '%s'", name, catalog)
	}
	return db, nil
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func didYouMean(word string, candidates []string) string {
	if n := Nearest(word, candidates); n != "" {
		return fmt.Sprintf("did you mean '%s'?", n)
	}
	return ""
}

// Put adds a table or view. An existing one of the same kind of life (temporary or not) is an error unless ifNotExists, which leaves it as it is and
// reports false.
func (c *Catalogs) Put(o Object, ifNotExists bool) (created bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, temporary := o.path(), isTemporary(o)
	db, err := c.database(p.Catalog, p.Database)
	if err != nil {
		return false, err
	}
	old, exists := db.objects[p.Name]
	if temporary {
		old, exists = c.temporary[p]
	}
	if exists {
		if ifNotExists {
			return false, nil
		}
		return false, errorf(CodeExists, "DROP it first, or write IF NOT EXISTS", "%s '%s' exists already", kindOf(old), p.Name)
	}
	if temporary {
		c.temporary[p] = o
	} else {
		db.objects[p.Name] = o
	}
	return true, nil
}

// PutView adds a view, in the place of a view of the same name and kind of life where there is one. A table of that name is an error.
func (c *Catalogs) PutView(v *View) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := v.path()
	db, err := c.database(p.Catalog, p.Database)
	if err != nil {
		return err
	}
	old := db.objects[p.Name]
	if v.Temporary {
		old = c.temporary[p]
	}
	if _, ok := old.(*View); old != nil && !ok {
		return errorf(CodeExists, "DROP it first", "'%s' exists already, and is a table", p.Name)
	}
	if v.Temporary {
		c.temporary[p] = v
	} else {
		db.objects[p.Name] = v
	}
	return nil
}

// Replace puts o in the place of old, which must still be there.
func (c *Catalogs) Replace(old, o Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := old.path()
	db, err := c.database(p.Catalog, p.Database)
	if err != nil {
		return err
	}
	var cur Object
	if isTemporary(old) {
		cur = c.temporary[p]
	} else {
		cur = db.objects[p.Name]
	}
	if cur != old {
		return errorf(CodeInUse, "run the statement again", "'%s' was changed by someone else meanwhile", p.Name)
	}
	q := o.path()
	if q != p {
		_, taken := db.objects[q.Name]
		if isTemporary(old) {
			_, taken = c.temporary[q]
		}
		if taken {
			return errorf(CodeExists, "", "'%s' exists already", q.Name)
		}
	}
	if isTemporary(old) {
		delete(c.temporary, p)
		c.temporary[q] = o
	} else {
		delete(db.objects, p.Name)
		db.objects[q.Name] = o
	}
	return nil
}

func isTemporary(o Object) bool {
	switch o := o.(type) {
	case *Table:
		return o.Temporary
	case *View:
		return o.Temporary
	}
	return false
}

func kindOf(o Object) string {
	if _, ok := o.(*View); ok {
		return "view"
	}
	return "table"
}

// Drop removes a table (view false) or a view. With temporary only a temporary one; without it a permanent one, which must not be shadowed. It returns
// what was dropped, nil with ifExists when there was nothing.
func (c *Catalogs) Drop(p Path, view, temporary, ifExists bool) (Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := "table"
	if view {
		want = "view"
	}
	db, err := c.database(p.Catalog, p.Database)
	if err != nil {
		if ifExists {
			return nil, nil
		}
		return nil, err
	}
	shadow, shadowed := c.temporary[p]
	o, exists := db.objects[p.Name]
	if temporary {
		o, exists = shadow, shadowed
	} else if shadowed && kindOf(shadow) == want {
		return nil, errorf(CodeInUse, fmt.Sprintf("DROP TEMPORARY %s %s first", strings.ToUpper(want), p.Name), "there is a temporary %s '%s'", want, p.Name)
	}
	if !exists || kindOf(o) != want {
		if exists && !ifExists {
			return nil, errorf(CodeUnknownTable, fmt.Sprintf("write DROP %s", strings.ToUpper(kindOf(o))), "'%s' is a %s", p.Name, kindOf(o))
		}
		if ifExists {
			return nil, nil
		}
		if temporary {
			return nil, errorf(CodeUnknownTable, "", "there is no temporary %s '%s'", want, p.Name)
		}
		e := c.unknown(p, db)
		e.Msg = strings.Replace(e.Msg, "table", want, 1)
		return nil, e
	}
	if temporary {
		delete(c.temporary, p)
	} else {
		delete(db.objects, p.Name)
	}
	return o, nil
}

// CreateCatalog adds an empty in-memory catalog.
func (c *Catalogs) CreateCatalog(name, comment string, options []Option, ifNotExists bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.catalogs[name] != nil {
		if ifNotExists {
			return nil
		}
		return errorf(CodeExists, "", "catalog '%s' exists already", name)
	}
	def := DefaultDatabase
	for _, o := range options {
		if o.Key == "default-database" {
			def = o.Value
		}
	}
	c.catalogs[name] = &namespace{comment: comment, options: options, databases: map[string]*database{def: {objects: map[string]Object{}}}}
	return nil
}

// DropCatalog removes a catalog with all that is in it.
func (c *Catalogs) DropCatalog(name string, ifExists bool) ([]Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ns := c.catalogs[name]
	if ns == nil {
		if ifExists {
			return nil, nil
		}
		return nil, errorf(CodeUnknownDatabase, didYouMean(name, keys(c.catalogs)), "catalog '%s' does not exist", name)
	}
	if name == c.current.Catalog {
		return nil, errorf(CodeInUse, "USE CATALOG another one first", "catalog '%s' is in use", name)
	}
	var gone []Object
	for _, db := range ns.databases {
		for _, o := range db.objects {
			gone = append(gone, o)
		}
	}
	delete(c.catalogs, name)
	gone = append(gone, c.dropTemporary(func(p Path) bool { return p.Catalog == name })...)
	return gone, nil
}

func (c *Catalogs) dropTemporary(which func(Path) bool) (gone []Object) {
	for p, o := range c.temporary {
		if which(p) {
			gone = append(gone, o)
			delete(c.temporary, p)
		}
	}
	return gone
}

// CreateDatabase adds a database; parts are [catalog,] database.
func (c *Catalogs) CreateDatabase(parts []string, comment string, options []Option, ifNotExists bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cat, name, err := c.databaseName(parts)
	if err != nil {
		return err
	}
	ns := c.catalogs[cat]
	if ns == nil {
		return errorf(CodeUnknownDatabase, didYouMean(cat, keys(c.catalogs)), "catalog '%s' does not exist", cat)
	}
	if ns.databases[name] != nil {
		if ifNotExists {
			return nil
		}
		return errorf(CodeExists, "", "database '%s' exists already", name)
	}
	ns.databases[name] = &database{comment: comment, options: options, objects: map[string]Object{}}
	return nil
}

func (c *Catalogs) databaseName(parts []string) (catalog, name string, err error) {
	switch len(parts) {
	case 1:
		return c.current.Catalog, parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	}
	return "", "", errorf(CodeUnknownDatabase, "", "'%s' is no name of a database: [catalog.]database", strings.Join(parts, "."))
}

// DropDatabase removes a database; one with tables in it only with cascade.
func (c *Catalogs) DropDatabase(parts []string, ifExists, cascade bool) ([]Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cat, name, err := c.databaseName(parts)
	if err != nil {
		return nil, err
	}
	db, err := c.database(cat, name)
	if err != nil {
		if ifExists {
			return nil, nil
		}
		return nil, err
	}
	if cat == c.current.Catalog && name == c.current.Database {
		return nil, errorf(CodeInUse, "USE another one first", "database '%s' is in use", name)
	}
	if len(db.objects) > 0 && !cascade {
		return nil, errorf(CodeNotEmpty, "DROP DATABASE "+name+" CASCADE drops it with all its tables", "database '%s' is not empty", name)
	}
	var gone []Object
	for _, o := range db.objects {
		gone = append(gone, o)
	}
	delete(c.catalogs[cat].databases, name)
	return append(gone, c.dropTemporary(func(p Path) bool { return p.Catalog == cat && p.Database == name })...), nil
}

// UseCatalog makes a catalog current, with its default database.
func (c *Catalogs) UseCatalog(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ns := c.catalogs[name]
	if ns == nil {
		return errorf(CodeUnknownDatabase, didYouMean(name, keys(c.catalogs)), "catalog '%s' does not exist", name)
	}
	db := DefaultDatabase
	for _, o := range ns.options {
		if o.Key == "default-database" {
			db = o.Value
		}
	}
	c.current = Path{Catalog: name, Database: db}
	return nil
}

// UseDatabase makes [catalog.]database current.
func (c *Catalogs) UseDatabase(parts []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	cat, name, err := c.databaseName(parts)
	if err != nil {
		return err
	}
	if _, err := c.database(cat, name); err != nil {
		return err
	}
	c.current = Path{Catalog: cat, Database: name}
	return nil
}

// ListCatalogs lists the catalogs by name.
func (c *Catalogs) ListCatalogs() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return keys(c.catalogs)
}

// ListDatabases lists the databases of a catalog ("": the current one) by name.
func (c *Catalogs) ListDatabases(catalog string) ([]string, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if catalog == "" {
		catalog = c.current.Catalog
	}
	ns := c.catalogs[catalog]
	if ns == nil {
		return nil, errorf(CodeUnknownDatabase, didYouMean(catalog, keys(c.catalogs)), "catalog '%s' does not exist", catalog)
	}
	return keys(ns.databases), nil
}

// List lists the tables and views of a database (none: the current one), each name once, by name.
func (c *Catalogs) List(parts ...string) ([]Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	cat, name := c.current.Catalog, c.current.Database
	if len(parts) > 0 {
		var err error
		if cat, name, err = c.databaseName(parts); err != nil {
			return nil, err
		}
	}
	db, err := c.database(cat, name)
	if err != nil {
		return nil, err
	}
	all := map[string]Object{}
	for n, o := range db.objects {
		all[n] = o
	}
	for p, o := range c.temporary {
		if p.Catalog == cat && p.Database == name {
			all[p.Name] = o
		}
	}
	out := make([]Object, 0, len(all))
	for _, n := range keys(all) {
		out = append(out, all[n])
	}
	return out, nil
}

// All gives every table and view of the session, also those that a temporary one of the same name hides, in no order.
func (c *Catalogs) All() []Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Object
	for _, ns := range c.catalogs {
		for _, db := range ns.databases {
			for _, o := range db.objects {
				out = append(out, o)
			}
		}
	}
	for _, o := range c.temporary {
		out = append(out, o)
	}
	return out
}

// DescribeCatalog returns comment and options of a catalog.
func (c *Catalogs) DescribeCatalog(name string) (comment string, options []Option, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ns := c.catalogs[name]
	if ns == nil {
		return "", nil, errorf(CodeUnknownDatabase, didYouMean(name, keys(c.catalogs)), "catalog '%s' does not exist", name)
	}
	return ns.comment, ns.options, nil
}

// Nearest returns the candidate that word was most likely meant to be, or "".
func Nearest(word string, candidates []string) string {
	best, bestDist := "", 1+[]int{0, 0, 1, 1, 2, 2, 2, 3}[min(len([]rune(word)), 7)]
	for _, c := range candidates {
		if c == word {
			continue
		}
		d := editDistance(strings.ToLower(word), strings.ToLower(c))
		if d < bestDist || d == bestDist && best != "" && c < best {
			best, bestDist = c, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > 8 || d < -8 {
		return 1 << 20
	}
	var prev2 []int
	prev := make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur := make([]int, len(y)+1)
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(y)]
}
