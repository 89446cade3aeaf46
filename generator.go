package weir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/build"
)

// Names of package connectors/watermark.
type (
	// WatermarkGenerator makes the watermarks of one split of a table.
	WatermarkGenerator = watermark.Generator
	// WatermarkFactory makes a generator from the constants in WATERMARK FOR ts AS name(ts, constants...).
	WatermarkFactory = watermark.Factory
)

// RegisterWatermarkGenerator gives a generator a name in SQL: WATERMARK FOR ts AS name(ts, constants...) in CREATE TABLE has the factory make one for
// each split of the table. The name is matched in any case; those of RegisterScalar hold for it too. A generator that is a watermark.Snapshotter
// keeps its state over restores.
func (db *DB) RegisterWatermarkGenerator(name string, factory WatermarkFactory) error {
	key := strings.ToUpper(name)
	db.mu.Lock()
	defer db.mu.Unlock()
	err := db.freeName(key)
	if err == nil && factory == nil {
		err = errors.New("the factory is nil")
	}
	if err != nil {
		return newError("WEIR-3010", fmt.Sprintf("RegisterWatermarkGenerator %s: %v", name, err), "")
	}
	db.generators[key] = factory
	return nil
}

// generatorNames is bind.Env.Generators.
func (db *DB) generatorNames() []string {
	return slices.Sorted(maps.Keys(db.watermarkGenerators()))
}

// checkGenerator is bind.Env.Generator.
func (db *DB) checkGenerator(name string, args []any) error {
	_, err := db.watermarkGenerators()[name].New(build.GeneratorArgs(args))
	return err
}

func (db *DB) watermarkGenerators() map[string]watermark.Factory {
	db.mu.Lock()
	defer db.mu.Unlock()
	return maps.Clone(db.generators)
}
