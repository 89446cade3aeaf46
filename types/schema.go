package types

// Column is a named, typed column of a table, a plan node or a batch.
type Column struct {
	Name string
	Type Type
}

// Schema is an ordered list of columns. Names need not be unique in plans.
type Schema []Column

// Index returns the position of the column called name (case-sensitive), or -1.
func (s Schema) Index(name string) int {
	for i := range s {
		if s[i].Name == name {
			return i
		}
	}
	return -1
}

// Names returns the column names in order.
func (s Schema) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}
