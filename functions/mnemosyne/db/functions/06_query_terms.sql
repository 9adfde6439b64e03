-- Return the stems of a word in a language, without accents. The result is empty for a stop word of the language.
CREATE OR REPLACE FUNCTION stems(p_word text, p_language text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    -- In English, accents are removed before stemming; in other languages, after stemming (see stemmed_words).
    RETURN CASE WHEN p_language = 'en' THEN ts_lexize('english_stem', without_accents(p_word))
        ELSE ARRAY(SELECT without_accents(stem) FROM unnest(ts_lexize(stem_dictionary(p_language), p_word)) AS stem) END;
END
$$;

-- Return the words of a query, each stemmed in several languages. query_terms calls this function for a namespace that
-- has memories in several languages.
--
-- Stop words of the query's language, such as "the", are left out. If the query has only stop words, they are kept.
-- Each remaining word is stemmed in the query's language, in English and in the languages of the namespace, because the
-- language of a short query often cannot be detected. Each row is one variant of a word:
--   number   the number of the word in the query; all variants of the word have the same number
--   word     the stem in one of the languages, the unstemmed word, or a joined compound (for example "inc4821")
--   factor   the factor by which the weight of the variant is multiplied: 1 for a stem; 0.25 for an unstemmed word, a
--            word with accents and a compound, because the stems of the same word also count
--   is_stop  true if the query has only stop words
CREATE OR REPLACE FUNCTION query_in_languages(p_query text, p_language text, p_languages text[])
RETURNS TABLE (number bigint, word text, factor double precision, is_stop boolean)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    every_word tsvector := simple_words(split_characters(p_query), 'simple');
    words tsvector := without_stop_words(every_word, coalesce(p_language, 'en'));
    only_stop_words boolean := words = '';
BEGIN
    IF only_stop_words THEN
        words := every_word;
    END IF;
    RETURN QUERY
    WITH query AS MATERIALIZED (
        SELECT q.word, q.number FROM unnest(tsvector_to_array(words)) WITH ORDINALITY AS q (word, number)
    ), stemming AS MATERIALIZED (
        SELECT DISTINCT unnest(p_languages || ARRAY['en', coalesce(p_language, 'en')]) AS language
    )
    SELECT min(u.number), u.word, max(u.factor), only_stop_words FROM (
        SELECT q.number, unnest(stems(q.word, l.language)) AS word, CAST(1.0 AS double precision) AS factor
        FROM query q CROSS JOIN stemming l
        UNION ALL
        SELECT q.number, unnest(ARRAY[q.word, without_accents(q.word)]), 0.25 FROM query q
        UNION ALL
        SELECT cardinality(tsvector_to_array(words)) + c.number, unnest(stems(joined(c.word), l.language)), 0.25
        FROM unnest(compounds(without_accents(split_characters(p_query)))) WITH ORDINALITY AS c (word, number)
        CROSS JOIN stemming l
    ) AS u GROUP BY u.word;
END
$$;

-- Return other spellings of words of a query (see spellings), stemmed in the languages p_languages. p_words has the
-- words of the query, and p_numbers has the number of each of these words (see query_in_languages). A spelling has one
-- row for each word that it stands for, with the number of this word. The `factor` of a spelling is 1. If the spelling
-- has several rows, the factor is divided equally among them.
CREATE OR REPLACE FUNCTION spelled_words(p_query text, p_languages text[], p_words text[], p_numbers bigint[])
RETURNS TABLE (number bigint, word text, factor double precision)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    WITH stemming AS MATERIALIZED (
        SELECT l.language, stem_dictionary(l.language) AS dictionary FROM unnest(p_languages) AS l (language)
    )
    SELECT p.number, v.stem, CAST(1.0 AS double precision) / count(*) OVER (PARTITION BY s.spelling, s.parts, v.stem)
    FROM spellings(p_query) AS s
    CROSS JOIN LATERAL (
        SELECT DISTINCT w.number FROM unnest(p_words, p_numbers) AS w (word, number) WHERE w.word = ANY (ARRAY(
            SELECT unnest(stems(part, l.language))
            FROM unnest(string_to_array(s.parts, ' ')) AS part CROSS JOIN stemming l))
    ) AS p
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(stem_of_spelling(s.spelling, l.dictionary)) AS stem FROM stemming l) AS v;
END
$$;

-- Return the forms of an English query's words. A form is a word as it is written in the query. A word that equals its
-- stem has no form. A stem passes half of its weight on to its forms, in equal parts. `share` is the part of the stem's
-- weight that the form gets, for example 0.25 if the stem has two forms.
CREATE OR REPLACE FUNCTION query_forms(p_namespace text, p_query text)
RETURNS TABLE (stem_key integer, form_key integer, share double precision)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT term_key(p_namespace, stem), term_key(p_namespace, form),
        CAST(0.5 AS double precision) / count(*) OVER (PARTITION BY stem)
    FROM english_words(without_accents(split_characters(p_query))) AS e
    CROSS JOIN LATERAL unnest(tsvector_to_array(ts_delete(e.forms, tsvector_to_array(e.stems)))) AS form
    CROSS JOIN LATERAL unnest(ts_lexize('english_stem', form)) AS stem;
END
$$;

-- Return the 30 rarest words of a query, and the forms of these words. A form is an English word as it is written, if
-- it differs from its stem. Each word and each form is one row:
--   key          the hash of the word or form (see term_key)
--   weight       its weight in the lexical score
--   share        the part of the namespace's memories that contain the word, from 0 to 1; null for a form
--   place        the rank of the word among the query's words: 1 for the rarest word; null for a form. If the namespace
--                has memories in several languages, a word has a row for each of its variants (see query_in_languages).
--                All these rows have the same place.
--   word_weight  the weight of the word, its forms and its variants together; null for a form
--   name         the number of the name in p_names that contains the word; the first name has the number 1. It is null
--                for a word that no name contains, and for a form
--
-- The weight is the square root of the inverse document frequency, which is computed from the share. In benchmarks,
-- this weight gave better recall on conversations than the inverse document frequency itself, and the same recall on
-- abstracts of papers.
--
-- All variants of a word have the same `word_weight`, because they are one word of the query. The `word_weight` is
-- computed from the share of the most frequent variant.
--
-- The share comes from a sample of the namespace's memories. If no memory of the sample contains a word, the share of
-- the word is 1/2 divided by the number of memories in the sample. If there is no sample, the share is 1/2. A share
-- below 1/100,000 gives the same weight as 1/100,000.
--
-- Words are stemmed. Stop words and question words are left out. If a word has accents, the word with its accents is
-- added. For a compound such as "INC-4821", the joined compound "inc4821" is added. An added word has a quarter of the
-- weight of a stemmed word, because the stem of the word, or the stems of the compound's parts, count too. If the query
-- and the memories are in English, a stemmed word passes half of its weight on to its forms. A language is ignored if
-- fewer than 1% of the sampled memories are written in it.
--
-- Other spellings of the query's words are added, too (see spellings). A spelling has a row for each word that it
-- stands for, with the place of this word: for "6 kg", the spelling "6kg" has a row with the place of "6" and a row
-- with the place of "kg".
--
-- p_names has words of the query that look like names (see the Python module query_names.py). Names without digits are
-- left out if the query is in German, because German capitalises every noun. They are also left out if the language of
-- the query is not detected, and at least 1% of the sampled memories are in German. The numbers in the column `name`
-- count only the names that are not left out.
CREATE OR REPLACE FUNCTION query_terms(p_namespace text, p_query text, p_names text[])
RETURNS TABLE (
    key integer, share double precision, weight double precision, place bigint, word_weight double precision, name integer
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    sample namespace_words;
    query_language text := text_language(p_query);
    languages text[];
    english boolean;
    simple text[];
    joined text[];
    words text[];
    names text[];
    stemming text[];  -- the languages in which other spellings are stemmed; `und` means not stemmed
    factors double precision[];
    numbers bigint[];
    only_stop_words boolean := false;
    -- Copies of the arrays in the row `sample`. Without these copies, PostgreSQL would decompress the arrays again for
    -- each word of the query.
    sampled_keys integer[];
    sampled_shares real[];
BEGIN
    SELECT w.* INTO sample FROM namespace_words w WHERE w.namespace = p_namespace;
    sampled_keys := sample.keys;
    sampled_shares := sample.shares;
    -- Leave out a language if fewer than 1% of the sampled memories are in it. A rare language was often detected by
    -- mistake, and stemming in all rare languages would double the cost of this function.
    languages := ARRAY(
        SELECT e.key FROM jsonb_each_text(sample.languages) AS e WHERE 100 * CAST(e.value AS integer) >= sample.sampled
    );
    english := coalesce(query_language, 'en') = 'en' AND languages <@ '{en}';
    IF english THEN
        simple := tsvector_to_array(stemmed_words(p_query, 'en'));
        words := tsvector_to_array(words_of(p_query, 'en'));
        joined := joined_numbers(p_query);
        IF joined <> '{}' THEN
            words := ARRAY(SELECT w FROM unnest(words) AS w WHERE w = ANY (simple) OR w <> ALL (joined));
        END IF;
        factors := ARRAY(SELECT CASE WHEN w = ANY (simple) THEN 1.0 ELSE 0.25 END FROM unnest(words) AS w);
        numbers := ARRAY(SELECT generate_subscripts(words, 1));
    ELSE
        SELECT array_agg(w.word), array_agg(w.factor), array_agg(w.number), bool_or(w.is_stop)
        INTO words, factors, numbers, only_stop_words
        FROM query_in_languages(p_query, query_language, languages) AS w;
    END IF;
    IF may_have_spellings(p_query) THEN
        stemming := CASE WHEN english THEN ARRAY['en']
            ELSE languages || ARRAY['en', 'und', coalesce(query_language, 'en')] END;
        SELECT words || array_agg(s.word), factors || array_agg(s.factor), numbers || array_agg(s.number)
        INTO words, factors, numbers FROM spelled_words(p_query, stemming, words, numbers) AS s;
    END IF;
    names := CASE WHEN 'de' = query_language OR (query_language IS NULL AND 'de' = ANY (languages))
        THEN ARRAY(SELECT n.name FROM unnest(p_names) AS n (name) WHERE n.name ~ '[0-9]') ELSE p_names END;
    RETURN QUERY
    WITH query_term AS (
        SELECT term_key(p_namespace, query.word) AS key, max(query.factor) AS factor, query.number
        FROM unnest(words, factors, numbers) AS query (word, factor, number) GROUP BY 1, 3
    ), term_share AS MATERIALIZED (
        SELECT query_term.*, CASE WHEN sampled_keys[bucket] = query_term.key
            THEN CAST(sampled_shares[bucket] AS double precision) END AS sampled_share
        FROM query_term CROSS JOIN LATERAL width_bucket(query_term.key, sampled_keys) AS bucket  -- a binary search
    ), placed AS (
        SELECT w.*, dense_rank() OVER (ORDER BY w.word_share, w.number) AS place FROM (
            SELECT t.key, t.factor, t.number, coalesce(t.sampled_share, unknown.share) AS share,
                coalesce(max(t.sampled_share) OVER (PARTITION BY t.number), unknown.share) AS word_share,
                max(t.factor) OVER (PARTITION BY t.number) AS word_factor
            -- If there is no sample, sample.sampled is null, and greatest(null, 1) is 1.
            FROM term_share t CROSS JOIN (SELECT 0.5 / greatest(sample.sampled, 1)) AS unknown (share)
            -- The words of a memory are stored without the stop words of the memory's language. So if the query has
            -- only stop words, most of them occur in no memory. Then look up only the words that occur in the sampled
            -- memories.
            WHERE only_stop_words IS NOT TRUE OR t.sampled_share IS NOT NULL
        ) AS w
    ), rarest AS MATERIALIZED (
        SELECT w.key, w.share, w.place, w.factor * sqrt(ln(1.0 + 1.0 / greatest(w.share, 0.00001))) AS weight,
            w.word_factor * sqrt(ln(1.0 + 1.0 / greatest(w.word_share, 0.00001))) AS word_weight
        FROM placed w
        WHERE w.place <= 30  -- a query may be a whole page of text; its 30 rarest words are enough
    ), form AS MATERIALIZED (
        SELECT f.*, f.share * r.weight AS weight
        FROM query_forms(p_namespace, p_query) AS f
        JOIN (SELECT u.key, sum(u.weight) AS weight FROM rarest u GROUP BY u.key) AS r ON r.key = f.stem_key WHERE english
    ), name_key AS MATERIALIZED (
        SELECT term_key(p_namespace, name_word) AS key, CAST(min(n.number) AS integer) AS number
        FROM unnest(names) WITH ORDINALITY AS n (name, number) CROSS JOIN LATERAL unnest(CASE WHEN english
            THEN tsvector_to_array(words_of(n.name, 'en'))
            ELSE ARRAY(SELECT w.word FROM query_in_languages(n.name, query_language, languages) AS w) END) AS name_word
        GROUP BY 1
    ), name_place AS MATERIALIZED (
        SELECT r.place, min(n.number) AS number FROM rarest r JOIN name_key n ON n.key = r.key GROUP BY r.place
    )
    SELECT r.key, r.share, r.weight * (1.0 - coalesce((SELECT sum(f.share) FROM form f WHERE f.stem_key = r.key), 0)),
        r.place, r.word_weight, (SELECT n.number FROM name_place n WHERE n.place = r.place)
    FROM rarest r
    UNION ALL
    SELECT f.form_key, NULL, f.weight, NULL, NULL, NULL FROM form f;
END
$$;

-- Return the weights of a query's words as a vector. The inner product of this vector and a memory's vector of word
-- weights is the score of the memory before length normalization (see lexical_score). If two words have the same key,
-- because their hashes are equal, their weights are added.
CREATE OR REPLACE FUNCTION terms_vector(p_keys integer[], p_weights double precision[]) RETURNS sparsevec
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    RETURN (
        SELECT CAST('{' || coalesce(string_agg(t.key || ':' || CAST(t.weight AS real), ','), '') || '}/536870912' AS sparsevec)
        FROM (SELECT u.key, sum(u.weight) AS weight FROM unnest(p_keys, p_weights) AS u (key, weight) GROUP BY u.key) AS t
    );
END
$$;

-- Return the BM25 score of a memory for a query. The score is the inner product of two vectors (the word weights of the
-- query and the word weights of the memory), multiplied by a factor for the length of the memory:
--   (k1 + 1) / (1 + k1 * (1 - b + b * length / mean)), with k1 = 1.2 and b = 0.6 * mean / (mean + 40)
-- Here `mean` is the mean length of the namespace's memories.
--
-- b determines how much the length of a memory matters. In a namespace of short memories b is small, because the length
-- of a chat turn or of a sentence says little about its relevance.
--
-- The length is the number of distinct words of the memory, but at most four times the mean length. Without this
-- maximum, very long memories would never rank high (Lv, Zhai 2011, "When Documents Are Very Long, BM25 Fails!",
-- https://doi.org/10.1145/2009916.2010070).
CREATE OR REPLACE FUNCTION lexical_score(w memory_words, p_terms sparsevec, p_mean_length double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN - ((w).weights <#> p_terms) * 2.2
    / (2.2 + 0.72 * (least(4.0 * p_mean_length, cardinality((w).keys)) - p_mean_length) / (p_mean_length + 40.0));

-- Return the share of a query's words that a memory contains, normalized by the length of the memory. p_share is the
-- share before the normalization; null counts as 0. The result is at most 1. p_length is the number of distinct words
-- of the memory, and p_mean_length the mean of this number in the namespace.
--
-- The result differs from a lexical score (see lexical_score) in two ways. It does not depend on how often a word
-- occurs in the memory. And the length of the memory matters about 1.7 times as much as in a lexical score, because a
-- long memory contains many words by chance.
CREATE OR REPLACE FUNCTION share_by_length(p_share double precision, p_length integer, p_mean_length double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN least(1.0, coalesce(p_share, 0.0)
    / (1.0 + 0.55 * (least(4.0 * p_mean_length, p_length) - p_mean_length) / (p_mean_length + 40.0)));
