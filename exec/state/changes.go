package state

// PageSize is how many ids, one behind the other, make a page.
const PageSize = 256

// Track begins to note which pages change, for whoever wants to write only these: an incremental checkpoint, a spill. All that is there counts as changed.
// A table that is not tracked pays nothing.
func (t *Table) Track() {
	t.changed = []uint64{}
	t.changeAll()
}

// TakeChanged returns the pages, ascending, that have changed since Track or the last call. A page has changed when a key of it was inserted, deleted, or
// only looked up by Groups or Find. That covers the columns that an owner keeps by id where it changes them for ids that it has asked for, and no others:
// what a watermark or a timer changes (which result of a window was shown last) the owner has to add.
func (t *Table) TakeChanged() (pages []int) {
	for w, word := range t.changed {
		for b := range 64 {
			if word>>b&1 != 0 {
				pages = append(pages, w*64+b)
			}
		}
	}
	clear(t.changed)
	return pages
}

// changeAll marks every page that holds an id.
func (t *Table) changeAll() {
	for id := 0; t.changed != nil && id < t.n; id += PageSize {
		t.change(int32(id))
	}
}

// change marks the page of id; negative ids have none.
func (t *Table) change(id int32) {
	if id < 0 {
		return
	}
	page := int(id) / PageSize
	if w := page / 64; w >= len(t.changed) {
		t.changed = append(t.changed, make([]uint64, w+1-len(t.changed))...)
	}
	t.changed[page/64] |= 1 << (page % 64)
}

// note marks the pages of ids.
func (t *Table) note(ids []int32) {
	if t.changed == nil {
		return
	}
	for _, id := range ids {
		t.change(id)
	}
}
