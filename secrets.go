package weir

import "github.com/weir-sql/weir/planner/bind"

// HideSecrets puts asterisks in the place of what stands in statements for options whose names say that they are secrets (passwords, logins, keys), and of
// passwords in other places, so that they can be shown. Places and lines stay the same.
func HideSecrets(sql string) string { return bind.HideSecrets(sql) }
