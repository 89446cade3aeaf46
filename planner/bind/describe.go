package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/types"
)

func text(names ...string) types.Schema {
	var s types.Schema
	for _, n := range names {
		s = append(s, types.Column{Name: n, Type: types.StringType})
	}
	return s
}

// List is an answer of one column.
func List(name string, values []string) *Rows {
	r := &Rows{Columns: text(name), Values: [][]any{}}
	for _, v := range values {
		r.Values = append(r.Values, []any{v})
	}
	return r
}

// Describe is the answer of DESCRIBE: name, type, null, key, extras, watermark, and comment when there is any.
func Describe(o catalog.Object) *Rows {
	r := &Rows{Columns: text("name", "type", "null", "key", "extras", "watermark"), Values: [][]any{}}
	r.Columns[2].Type = types.BooleanType
	t, ok := o.(*catalog.Table)
	if !ok {
		for _, c := range o.(*catalog.View).Schema {
			r.Values = append(r.Values, []any{c.Name, columnType(c.Type), c.Type.Nullable, nil, nil, nil})
		}
		return r
	}
	comments := slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.Comment != "" })
	if comments {
		r.Columns = append(r.Columns, text("comment")...)
	}
	for _, c := range t.Columns {
		row := []any{c.Name, columnType(c.Type), c.Type.Nullable, nil, nil, nil}
		if slices.Contains(t.PrimaryKey, c.Name) {
			row[3] = "PRI(" + strings.Join(t.PrimaryKey, ", ") + ")"
		}
		if x := extras(c); x != "" {
			row[4] = x
		}
		if t.Watermark != nil && t.Watermark.Column == c.Name {
			row[5] = t.Watermark.Text
		}
		if comments {
			if c.Comment != "" {
				row = append(row, c.Comment)
			} else {
				row = append(row, nil)
			}
		}
		r.Values = append(r.Values, row)
	}
	return r
}

func columnType(t types.Type) string {
	s := t.WithNull(true).String()
	switch t.Attr {
	case types.Rowtime:
		s += " *ROWTIME*"
	case types.Proctime:
		s += " *PROCTIME*"
	}
	return s
}

func extras(c catalog.Column) string {
	switch c.Kind {
	case catalog.Computed:
		return "AS " + c.Text
	case catalog.Metadata:
		s := "METADATA"
		if c.Key != c.Name {
			s += " FROM '" + quoted(c.Key) + "'"
		}
		if c.Virtual {
			s += " VIRTUAL"
		}
		return s
	}
	return ""
}

func quoted(s string) string { return strings.ReplaceAll(s, "'", "''") }

func backtick(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func backticks(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = backtick(s)
	}
	return strings.Join(out, ", ")
}

// ShowCreate is the statement that makes a table or view. For a file it is one to paste, with a WATERMARK proposed for the first time column.
func ShowCreate(o catalog.Object) string {
	if v, ok := o.(*catalog.View); ok {
		kind := "VIEW"
		if v.Temporary {
			kind = "TEMPORARY VIEW"
		}
		s := fmt.Sprintf("CREATE %s %s (\n  %s\n)\n", kind, v.Path, strings.ReplaceAll(backticks(v.Schema.Names()), ", ", ",\n  "))
		if v.Comment != "" {
			s += "COMMENT '" + quoted(v.Comment) + "'\n"
		}
		return s + "AS " + HideSecrets(v.Text)
	}
	t := o.(*catalog.Table)
	var b strings.Builder
	name, kind := t.Path.String(), "TABLE"
	if t.Temporary {
		kind = "TEMPORARY TABLE"
	}
	if t.File != "" {
		name = backtick(t.Path.Name)
	}
	fmt.Fprintf(&b, "CREATE %s %s (\n", kind, name)
	var lines []string
	for _, c := range t.Columns {
		line := "  " + backtick(c.Name)
		if c.Kind != catalog.Computed {
			line += " " + c.Type.String()
		}
		if x := extras(c); x != "" {
			line += " " + x
		}
		if c.Comment != "" {
			line += " COMMENT '" + quoted(c.Comment) + "'"
		}
		lines = append(lines, line)
	}
	if w := t.Watermark; w != nil {
		lines = append(lines, "  WATERMARK FOR "+backtick(w.Column)+" AS "+w.Text)
	} else if t.File != "" {
		for _, c := range t.Columns {
			if c.Type.IsTimestamp() && c.Type.Precision <= 6 {
				lines = append(lines, "  WATERMARK FOR "+backtick(c.Name)+" AS "+backtick(c.Name)+" - INTERVAL '5' SECOND")
				break
			}
		}
	}
	if len(t.PrimaryKey) > 0 {
		lines = append(lines, "  CONSTRAINT "+backtick(keyName(t))+" PRIMARY KEY ("+backticks(t.PrimaryKey)+") NOT ENFORCED")
	}
	b.WriteString(strings.Join(lines, ",\n") + "\n)")
	if t.Comment != "" {
		b.WriteString("\nCOMMENT '" + quoted(t.Comment) + "'")
	}
	if len(t.PartitionBy) > 0 {
		b.WriteString("\nPARTITIONED BY (" + backticks(t.PartitionBy) + ")")
	}
	if len(t.Options) > 0 {
		b.WriteString("\nWITH (\n")
		for i, o := range t.Options {
			end := ",\n"
			if i == len(t.Options)-1 {
				end = "\n"
			}
			fmt.Fprintf(&b, "  '%s' = '%s'%s", quoted(o.Key), quoted(ShownValue(o.Key, o.Value)), end)
		}
		b.WriteString(")")
	}
	return b.String()
}

// Matches is LIKE (case-sensitive) or ILIKE with % and _; backslash escapes.
func Matches(s, pattern string, fold bool) bool {
	if fold {
		s, pattern = strings.ToLower(s), strings.ToLower(pattern)
	}
	return like([]rune(s), []rune(pattern))
}

func like(s, p []rune) bool {
	// The last % seen takes more and more until the rest fits.
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j] == '%':
			star, mark = j, i
			j++
		case j+1 < len(p) && p[j] == '\\' && p[j+1] == s[i]:
			i, j = i+1, j+2
		case j < len(p) && p[j] != '\\' && (p[j] == '_' || p[j] == s[i]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}
