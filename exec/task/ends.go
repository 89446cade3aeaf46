package task

// ends lists the ids of the sources, and of the sinks whose rows are those of the statement.
func (g *Graph) ends() (sources, sinks map[string]bool) {
	sources, sinks = map[string]bool{}, map[string]bool{}
	seen := map[*Op]bool{}
	var walk func(to []Target)
	walk = func(to []Target) {
		for _, t := range to {
			switch {
			case t.Sink != nil:
				sinks[t.Sink.ID] = !t.Sink.Aside
			case t.Op != nil && !seen[t.Op]:
				seen[t.Op] = true
				walk(t.Op.To)
				for _, side := range t.Op.Side {
					walk(side)
				}
			}
		}
	}
	for _, t := range g.Tasks {
		if t.Source != nil {
			sources[t.Source.ID] = true
			walk(t.Source.Bad)
		}
		walk(t.To)
		for _, op := range t.Head {
			walk([]Target{{Op: op}})
		}
	}
	return sources, sinks
}
