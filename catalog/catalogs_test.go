package catalog

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		word, want string
		candidates []string
	}{
		{"nam", "name", []string{"id", "name", "v"}},
		{"Name", "name", []string{"name"}},
		{"actoin", "auction", []string{"auction", "bidder"}},
		{"pirce", "price", []string{"price", "prices"}},
		{"x", "", []string{"m", "y"}},
		{"zz", "", []string{"name", "value"}},
		{"bids", "bid", []string{"bids", "bid"}}, // never the word itself
		{"longer_name_entirely", "", []string{"a"}},
	} {
		if got := Nearest(c.word, c.candidates); got != c.want {
			t.Errorf("Nearest(%q, %v) = %q, want %q", c.word, c.candidates, got, c.want)
		}
	}
}

func TestShadowing(t *testing.T) {
	c := New()
	p, err := c.Qualify([]string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	permanent, temporary := &Table{ID: NewID(), Path: p}, &Table{ID: NewID(), Path: p, Temporary: true}
	for _, o := range []Object{permanent, temporary} {
		if created, err := c.Put(o, false); err != nil || !created {
			t.Fatal(created, err)
		}
	}
	if o, _ := c.Get(p); o != Object(temporary) {
		t.Errorf("the temporary table does not shadow: %v", o)
	}
	if created, err := c.Put(&Table{Path: p}, true); err != nil || created {
		t.Errorf("IF NOT EXISTS: %v, %v", created, err)
	}
	if o, err := c.Drop(p, false, true, false); err != nil || o != Object(temporary) {
		t.Errorf("DROP TEMPORARY: %v, %v", o, err)
	}
	if o, _ := c.Get(p); o != Object(permanent) {
		t.Errorf("the permanent table does not come back: %v", o)
	}
	// A change that comes too late is refused.
	if _, err := c.Drop(p, false, false, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(permanent, &Table{Path: p}); err == nil {
		t.Error("a table that was dropped could be replaced")
	}
}

func TestQualify(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"t"}, "`c`.`d`.`t`"},
		{[]string{"e", "t"}, "`c`.`e`.`t`"},
		{[]string{"f", "e", "t`x"}, "`f`.`e`.`t``x`"},
	} {
		p, err := Qualify(c.parts, "c", "d")
		if err != nil || p.String() != c.want {
			t.Errorf("%v: %s, %v; want %s", c.parts, p, err, c.want)
		}
	}
	if _, err := Qualify([]string{"a", "b", "c", "d"}, "c", "d"); err == nil {
		t.Error("four parts are no name")
	}
}
