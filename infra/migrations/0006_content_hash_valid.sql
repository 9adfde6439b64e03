-- What the migration before left unsaid: every row satisfies the new check. Readers and writers go on meanwhile.
ALTER TABLE memories VALIDATE CONSTRAINT memories_content_hash_check;
