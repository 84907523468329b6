package store

import "strings"

// The word {{noted}} of migrations replaces a table's triggers of {{onchange}}. Its triggers
// count changes in TABLE_version, and note the number of the last change of each value that
// the columns have or had in TABLE_changes.
//
// The counter is one row: PostgreSQL locks it from its update until the transaction ends, so
// that numbers become visible in their order, also where several processes write.

// sqliteNoted runs for each row: SQLite has no triggers of statements.
func sqliteNoted(table string, columns []string) string {
	var triggers []string
	for _, event := range []struct {
		name, of string
		rows     []string
	}{
		{"inserted", "INSERT", []string{"NEW"}},
		{"updated", "UPDATE", []string{"OLD", "NEW"}},
		{"deleted", "DELETE", []string{"OLD"}},
	} {
		var trigger strings.Builder
		trigger.WriteString("DROP TRIGGER " + table + "_" + event.name + ";\n" +
			"CREATE TRIGGER " + table + "_" + event.name + " AFTER " + event.of + " ON " + table + " BEGIN\n" +
			"    UPDATE " + table + "_version SET version = version + 1;\n")
		for _, row := range event.rows {
			for _, column := range columns {
				value := row + "." + column
				trigger.WriteString("    INSERT INTO " + table + "_changes (" + columns[0] + ", number) SELECT " + value + ", version FROM " + table + "_version WHERE " + value +
					" IS NOT NULL ON CONFLICT (" + columns[0] + ") DO UPDATE SET number = excluded.number;\n")
			}
		}
		triggers = append(triggers, trigger.String()+"END;")
	}
	return strings.Join(triggers, "\n\n")
}

// postgresNoted runs once for each statement, since each update of the counter leaves a row
// behind until its transaction ends: a trigger of rows makes a transaction of n rows cost n².
func postgresNoted(table string, columns []string) string {
	function := table + "_noted"
	note := func(rows string) string {
		var values []string
		for _, column := range columns {
			values = append(values, "SELECT "+column+" AS value FROM "+rows+" WHERE "+column+" IS NOT NULL")
		}
		return "INSERT INTO " + table + "_changes (" + columns[0] + ", number) SELECT value, changed FROM (" + strings.Join(values, " UNION ") + ") AS noted" +
			" ON CONFLICT (" + columns[0] + ") DO UPDATE SET number = excluded.number;"
	}
	triggers := []string{
		"DROP TRIGGER " + table + "_changed ON " + table + ";\nDROP FUNCTION " + table + "_changed();",
		"CREATE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE changed BIGINT; BEGIN\n" +
			"    UPDATE " + table + "_version SET version = version + 1 RETURNING version INTO changed;\n" +
			"    IF TG_OP <> 'INSERT' THEN\n        " + note("older") + "\n    END IF;\n" +
			"    IF TG_OP <> 'DELETE' THEN\n        " + note("newer") + "\n    END IF;\n" +
			"    RETURN NULL;\nEND $$;",
	}
	for _, event := range []struct{ name, of, tables string }{
		{"inserted", "INSERT", "NEW TABLE AS newer"},
		{"updated", "UPDATE", "OLD TABLE AS older NEW TABLE AS newer"},
		{"deleted", "DELETE", "OLD TABLE AS older"},
	} {
		triggers = append(triggers, "CREATE TRIGGER "+table+"_"+event.name+" AFTER "+event.of+" ON "+table+
			" REFERENCING "+event.tables+" FOR EACH STATEMENT EXECUTE FUNCTION "+function+"();")
	}
	return strings.Join(triggers, "\n\n")
}
