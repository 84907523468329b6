-- Items of answers that callers may refer to by identifier later on, for a bounded time.
-- What an item says is encrypted, by a key that is made of its identifier; neither is here.
CREATE TABLE items (
    -- SHA-256 of the API key's identifier and the item's.
    id      {{bytes}}   NOT NULL PRIMARY KEY,
    sealed  {{bytes}}   NOT NULL,
    expires {{integer}} NOT NULL
) {{strict}};

CREATE INDEX items_expires ON items (expires);
