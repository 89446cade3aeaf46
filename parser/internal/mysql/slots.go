package mysql

import (
	"strconv"

	"github.com/weir-sql/weir/parser/ast"
)

// Piece is a bit of rewritten text (one MySQL token, or a few) with the number of the source
// token that it stands for.
type Piece struct {
	Text string
	Src  int
}

// Slot is what a `#n` stands for. Where it is written decides which of these it
// must be:
//
//	as a column      an ast.Expr, or a marker: *Order, *Postfix, *Infix, *Symmetric
//	first in SELECT  *ast.Select, *ast.Values; *ast.Query for a query parsed apart
//	as a function    Fn, or a marker around its argument: *On, *Window, *Pattern
//	as a table       ast.TableRef
//	after AS         *ast.Ident (columns), *Derived (queries in FROM)
//	as USING column  *Using, or ast.CrossJoin for CROSS JOIN
//	a CTE's name     *CTE
//	WINDOW's name    *ast.NamedWindow
type Slot any

// SlotName is how slot n is written.
func SlotName(n int) string { return "`#" + strconv.Itoa(n) + "`" }

// Arg is an argument with the part of the text it covers, parentheses included.
type Arg struct {
	X    ast.Expr
	Span ast.Span
}

// Fn makes an expression of the arguments of a call.
type Fn func(args []Arg) ast.Expr

// Order is written behind each ORDER BY item: "x OR `#n`" (OR is the loosest
// operator). It carries direction, nulls and the end of the item.
type Order struct {
	Desc  bool
	Nulls string
	Stop  int
}

// Postfix is a postfix operator at the level of comparison, written "x = `#n`".
type Postfix struct {
	Make func(x Arg) ast.Expr
}

// Infix is an operator at the level of comparison, written "l <=> `#n` <=> r".
type Infix struct {
	Make func(l, r Arg) ast.Expr
}

// Symmetric marks BETWEEN SYMMETRIC, written "BETWEEN `#n` | low AND high".
type Symmetric struct{}

// On is written around each join condition: "ON `#n`(c)". Full tells a FULL
// JOIN from the LEFT JOIN that is written.
type On struct {
	Full bool
	Stop int
}

// Using carries USING (columns) and NATURAL.
type Using struct {
	Full, Natural bool
	Columns       []ast.Ident
	Stop          int
}

// Pattern is written around the right side of LIKE and SIMILAR TO; X, Not and
// Pattern of the node are filled in.
type Pattern struct{ Like *ast.Like }

// Window is written around the call in "MIN(`#n`(call)) OVER (spec)"; partition
// and order of the spec are filled in.
type Window struct {
	Over *ast.Over
	Stop int
}

// Derived is the alias of a query in FROM.
type Derived struct {
	Lateral bool
	Alias   *ast.TableAlias // may be nil
	Span    ast.Span
}

// CTE is the name of a WITH query. With is where the WITH stands.
type CTE struct {
	With      ast.Pos
	Recursive bool
	CTE       *ast.CTE
}

// Limit is the number n in "LIMIT n".
type Limit struct {
	Limit, Offset *ast.Literal
	Stop          int
}
