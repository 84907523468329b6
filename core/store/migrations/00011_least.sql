-- Programs of two releases may use one database: a step adds what the newer one needs, and
-- what only the older one needs is taken away a release later. This is the least version of
-- the schema that a program must know to use the database (README.md).
CREATE TABLE schema_least (
    version {{integer}} NOT NULL
) {{strict}};

INSERT INTO schema_least (version) VALUES (11);
