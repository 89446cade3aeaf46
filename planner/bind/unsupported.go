package bind

import (
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
)

// Feature is something of Flink SQL that parses and is refused, by name, with the place in the text.
type Feature struct {
	Code string
	// Name is what the message calls it: "<Name> is not supported yet".
	Name string
	Hint string
}

// unsupported refuses a feature at its place.
func unsupported(n ast.Node, f Feature) error {
	return logical.Errorf(n, f.Code, f.Hint, "%s is not supported yet", f.Name)
}

// What is refused in queries.
var (
	featJoin            = Feature{"WEIR-1501", "JOIN", ""}
	featOver            = Feature{"WEIR-1502", "OVER", ""}
	featMatch           = Feature{"WEIR-1503", "MATCH_RECOGNIZE", ""}
	featSession         = Feature{"WEIR-1504", "SESSION", ""}
	featSetOp           = Feature{"WEIR-1505", "INTERSECT", ""}
	featExcept          = Feature{"WEIR-1505", "EXCEPT", ""}
	featInSubquery      = Feature{"WEIR-1506", "IN (query)", ""}
	featExists          = Feature{"WEIR-1506", "EXISTS", ""}
	featScalarSubquery  = Feature{"WEIR-1506", "a query as a value", ""}
	featQuantified      = Feature{"WEIR-1506", "a comparison with ANY or ALL", ""}
	featAsOf            = Feature{"WEIR-1507", "FOR SYSTEM_TIME AS OF", ""}
	featLateral         = Feature{"WEIR-1508", "LATERAL", ""}
	featUnnest          = Feature{"WEIR-1509", "UNNEST", ""}
	featTableFunction   = Feature{"WEIR-1510", "a table function other than TUMBLE, HOP and CUMULATE", ""}
	featQualify         = Feature{"WEIR-1511", "QUALIFY", ""}
	featNamedWindow     = Feature{"WEIR-1502", "WINDOW", ""}
	featLegacyWindow    = Feature{"WEIR-1512", "a window function in GROUP BY", "write FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end"}
	featIsJSON          = Feature{"WEIR-1513", "IS JSON", ""}
	featJSONFunction    = Feature{"WEIR-1513", "a JSON function", ""}
	featMultisetCons    = Feature{"WEIR-1513", "MULTISET[...]", ""}
	featDefault         = Feature{"WEIR-1513", "DEFAULT", ""}
	featNamedArgs       = Feature{"WEIR-1513", "a named argument (name => value) outside of a window function", ""}
	featParameter       = Feature{"WEIR-1513", "a parameter (?)", "write the value"}
	featWithinGroup     = Feature{"WEIR-1513", "WITHIN GROUP", ""}
	featRecursive       = Feature{"WEIR-1514", "WITH RECURSIVE", ""}
	featGroupByDistinct = Feature{"WEIR-1514", "GROUP BY DISTINCT", ""}
	featPartitionByTVF  = Feature{"WEIR-1514", "PARTITION BY or ORDER BY in the argument of a window function", ""}
)

// What is refused in hints and options.
var (
	featStateTTL     = Feature{"WEIR-1520", "the hint STATE_TTL", ""}
	featJoinHint     = Feature{"WEIR-1520", "a join hint", ""}
	featDistribution = Feature{"WEIR-1523", "DISTRIBUTED BY", ""}
)

// What is refused as a statement.
var (
	featUpdate            = Feature{"WEIR-1530", "UPDATE", ""}
	featDelete            = Feature{"WEIR-1530", "DELETE", ""}
	featTruncate          = Feature{"WEIR-1530", "TRUNCATE TABLE", ""}
	featCallProcedure     = Feature{"WEIR-1530", "CALL", ""}
	featCreateFunction    = Feature{"WEIR-1531", "CREATE FUNCTION", "a function in Go is registered by RegisterScalar of the library"}
	featAlterFunction     = Feature{"WEIR-1531", "ALTER FUNCTION", ""}
	featDropFunction      = Feature{"WEIR-1531", "DROP FUNCTION", ""}
	featModel             = Feature{"WEIR-1532", "MODEL", ""}
	featMaterializedTable = Feature{"WEIR-1532", "MATERIALIZED TABLE", ""}
	featPlanFile          = Feature{"WEIR-1533", "COMPILE PLAN and EXECUTE PLAN", ""}
	featAnalyzeTable      = Feature{"WEIR-1534", "ANALYZE TABLE", ""}
	featJar               = Feature{"WEIR-1534", "ADD JAR and REMOVE JAR", ""}
	featModule            = Feature{"WEIR-1534", "modules", ""}
	featReplaceTable      = Feature{"WEIR-1535", "REPLACE TABLE", "DROP TABLE and CREATE TABLE"}
	featOnConflict        = Feature{"WEIR-1536", "ON CONFLICT", ""}
	featNestedColumn      = Feature{"WEIR-1537", "a nested field as a column", ""}
	featAlter             = Feature{"WEIR-1538", "this form of ALTER", ""}
	featPartitions        = Feature{"WEIR-1539", "ALTER TABLE ADD or DROP PARTITION", ""}
	featShow              = Feature{"WEIR-1540", "this form of SHOW", ""}
	featDescribe          = Feature{"WEIR-1540", "this form of DESCRIBE", ""}
	featExplainAnalyze    = Feature{"WEIR-1541", "EXPLAIN ANALYZE", ""}
	featCatalogType       = Feature{"WEIR-1542", "a catalog of this type", "'type' = 'generic_in_memory' is there"}
)

// unsupportedTypes are types of Flink that exist and are refused.
var unsupportedTypes = map[string]Feature{
	"RAW":                      {"WEIR-1516", "the type RAW", ""},
	"TIMESTAMP WITH TIME ZONE": {"WEIR-1516", "the type TIMESTAMP WITH TIME ZONE", "use TIMESTAMP_LTZ"},
	"TIMESTAMP_TZ":             {"WEIR-1516", "the type TIMESTAMP WITH TIME ZONE", "use TIMESTAMP_LTZ"},
	"VARIANT":                  {"WEIR-1516", "the type VARIANT", ""},
	"STRUCTURED":               {"WEIR-1516", "the type STRUCTURED", "use ROW<..>"},
	"BITMAP":                   {"WEIR-1516", "the type BITMAP", ""},
	"DESCRIPTOR":               {"WEIR-1516", "the type DESCRIPTOR", ""},
	"NULL":                     {"WEIR-1516", "the type NULL", ""},
}

// unsupportedFunctions are functions of Flink that exist and are not there yet, by name.
var unsupportedFunctions = func() map[string]Feature {
	m := map[string]Feature{}
	for _, n := range []string{"JSON_EXISTS", "JSON_VALUE", "JSON_QUERY", "JSON_STRING", "JSON_OBJECT", "JSON_ARRAY",
		"JSON_OBJECTAGG", "JSON_ARRAYAGG", "PARSE_JSON", "TRY_PARSE_JSON"} {
		m[n] = Feature{featJSONFunction.Code, n, ""}
	}
	for _, n := range []string{"ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD", "NTILE", "CUME_DIST", "PERCENT_RANK"} {
		m[n] = Feature{featOver.Code, n, ""}
	}
	for _, n := range []string{"TUMBLE", "HOP", "SESSION", "TUMBLE_START", "TUMBLE_END", "TUMBLE_ROWTIME", "TUMBLE_PROCTIME", "HOP_START", "HOP_END",
		"HOP_ROWTIME", "HOP_PROCTIME", "SESSION_START", "SESSION_END", "SESSION_ROWTIME", "SESSION_PROCTIME"} {
		m[n] = featLegacyWindow
	}
	for _, n := range []string{"PERCENTILE", "MATCH_ROWTIME", "MATCH_PROCTIME", "CLASSIFIER", "ML_PREDICT", "ML_EVALUATE", "VECTOR_SEARCH", "TO_CHANGELOG",
		"FROM_CHANGELOG", "GROUPING_ID"} {
		m[n] = Feature{"WEIR-1517", n, ""}
	}
	return m
}()

// unsupportedExpr names an expression that the binder does not take.
func unsupportedExpr(e ast.Expr) (Feature, bool) {
	switch e.(type) {
	case *ast.InSubquery:
		return featInSubquery, true
	case *ast.Exists:
		return featExists, true
	case *ast.Subquery:
		return featScalarSubquery, true
	case *ast.Quantified:
		return featQuantified, true
	case *ast.IsJSON:
		return featIsJSON, true
	case *ast.MultisetCons:
		return featMultisetCons, true
	case *ast.Default:
		return featDefault, true
	}
	return Feature{}, false
}

// Unsupported refuses what the planner finds out late.
func Unsupported(pos ast.Pos, name string) error {
	return logical.ErrorAt(pos, "WEIR-1526", "", "%s is not supported yet", name)
}

// UnsupportedCatalog refuses a type of catalogs.
func UnsupportedCatalog(s *ast.CreateCatalog, kind string) error {
	if kind == "" {
		return logical.Errorf(s, logical.CodeOption, "WITH ('type' = 'generic_in_memory')", "a catalog needs the option 'type'")
	}
	f := featCatalogType
	f.Name = "a catalog of type '" + kind + "'"
	return unsupported(s, f)
}

// UnsupportedStatement refuses a statement.
func UnsupportedStatement(s ast.Statement) error {
	f := Feature{"WEIR-1530", "this statement", ""}
	switch s := s.(type) {
	case *ast.Update:
		f = featUpdate
	case *ast.Delete:
		f = featDelete
	case *ast.Truncate:
		f = featTruncate
	case *ast.CallProcedure:
		f = featCallProcedure
	case *ast.CreateFunction:
		f = featCreateFunction
		if s.Alter {
			f = featAlterFunction
		}
	case *ast.CreateModel:
		f = featModel
		f.Name = "CREATE MODEL"
	case *ast.CreateMaterializedTable:
		f = featMaterializedTable
		f.Name = "CREATE MATERIALIZED TABLE"
	case *ast.Plan:
		f = featPlanFile
	case *ast.AnalyzeTable:
		f = featAnalyzeTable
	case *ast.Jar:
		f = featJar
	case *ast.Module:
		f = featModule
		f.Name = "LOAD MODULE and UNLOAD MODULE"
	case *ast.Drop:
		f = featDropFunction
		f.Name = "DROP " + string(s.Kind)
	case *ast.Alter:
		f = featAlter
		f.Name = "ALTER " + string(s.Kind)
	case *ast.Show:
		f = featShow
		f.Name = "SHOW " + string(s.Kind)
	case *ast.Describe:
		f = featDescribe
		f.Name = "DESCRIBE " + string(s.Kind)
	case *ast.Explain:
		f = featExplainAnalyze
	case *ast.Use:
		f = featModule
		f.Name = "USE MODULES"
	case *ast.Client:
		f.Name = s.Command
	}
	return unsupported(s, f)
}
