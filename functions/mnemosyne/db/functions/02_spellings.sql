-- Split texts into words, and find other spellings of the words of a query.

-- Return the text without the accents and other marks of Latin, Greek, Cyrillic, Hebrew and Arabic letters. Ligatures
-- and stroked Latin letters, such as "ø", are replaced by their base letters. In other scripts, a letter with a mark
-- (for example a vowel sign or the Japanese dakuten) is a different letter, so these marks are kept.
CREATE OR REPLACE FUNCTION without_accents(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE
    replace(replace(replace(replace(replace(replace(translate(normalize(regexp_replace(normalize(p_text, NFKD),
        '[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0640\u064B-\u0655\u0670]', '', 'g'), NFC),
        'łŁøØđĐðÐħĦŧŦıς', 'lLoOdDdDhHtTiσ'), 'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'AE'), 'œ', 'oe'), 'Œ', 'OE') END;

-- Return the text with numbers in one spelling: without separators of thousands, and with a decimal point. "1,299"
-- becomes "1299", "12,34,567" becomes "1234567", "1.299,50" becomes "1299.50", and "3,5" becomes "3.5". "1.299" is
-- unchanged, because it can also be a number with three decimals.
CREATE OR REPLACE FUNCTION plain_numbers(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_text !~ '\d[.,''’]\d' THEN p_text ELSE regexp_replace(regexp_replace(regexp_replace(p_text,
    '(\d)\.(?=\d{3}(?:\.\d{3}){0,4},\d{1,2}(?!\d))', '\1', 'g'),
    '(\d)(?:[,''’](?=\d{3}(?!\d))|,(?=(?:\d\d,)+\d{3}(?!\d)))', '\1', 'g'),
    '(^|[^\d,.])(\d+),(?=\d{1,2}(?![\d,]|\.\d))', '\1\2.', 'g') END;

-- Return the text with a space between the parts of each compound. A compound is a path, an address, an identifier, a
-- file name or an issue key. Without these spaces, PostgreSQL's parser would take "tea/coffee" for a file, "done.Next"
-- for a host, and the end of "INC-4821" for a negative number.
--
-- A dot between digits is kept. If a dotted number follows letters, the number without the letters is added: "v1.2.3"
-- becomes "v1.2.3 1.2.3". Numbers have one spelling (see plain_numbers). The regular expressions use no lookbehind,
-- because the time of a lookbehind is quadratic in the length of the text.
CREATE OR REPLACE FUNCTION split_compounds(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(translate(plain_numbers(p_text), '_/\@:#', '      '),
    '(\w)[-+&=~|](?=\w)|([[:alpha:]])\.(?=\w)|(\d)\.(?=[[:alpha:]])', '\1\2\3 ', 'g'),
    '\m([[:alpha:]]+)(\d+(?:\.\d+)+)', '\1\2 \1 \2', 'g');

-- Return a regular expression for a character of a script that has no spaces between words (Thai, Lao, Burmese, Khmer,
-- kana, Han).
CREATE OR REPLACE FUNCTION unspaced_character() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3041-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF]';

-- Return characters to write between the brackets of a regular expression ("[…]"). They are marks that are parts of
-- words, but that the regular expression \w does not match: the marks of Indic scripts that remove a vowel or change a
-- consonant, and the tone marks of Thai and Lao.
CREATE OR REPLACE FUNCTION marks_in_words() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\u093C\u094D\u09BC\u09CD\u0A3C\u0A4D\u0ABC\u0ACD\u0B3C\u0B4D\u0BCD\u0C4D\u0CBC\u0CCD\u0D4D\u0DCA'
    '\u0E47-\u0E4E\u0EC8-\u0ECD';

-- Return the text in the Unicode normal form NFKC, with a space on both sides of each character of a script that has no
-- spaces between words (see unspaced_character). Each such character then counts as a word.
--
-- Soft hyphens, zero width spaces and marks of the direction of writing are removed. They are invisible, but for
-- PostgreSQL's parser they are letters. A no-break space that separates the thousands of a number is removed, too.
--
-- Before the conversion to NFKC, a space is added between a digit and a fraction or superscript that follows it,
-- because NFKC replaces "½" by "1⁄2", and "3½" would become "31⁄2".
--
-- Unicode's hyphens and its minus sign become "-", and Arabic, Persian and Devanagari digits become 0 to 9, with the
-- Arabic separators of decimals and thousands as "." and ",". The Persian letters ی and ک become the Arabic letters ي
-- and ك, because many people write one in place of the other. "ß" becomes "ss", because "ss" is written instead of "ß"
-- in Switzerland and on keyboards without "ß".
CREATE OR REPLACE FUNCTION split_characters(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_text) = char_length(p_text) THEN p_text ELSE regexp_replace(
    translate(replace(replace(normalize(
            regexp_replace(regexp_replace(p_text, '(\d)[\u00A0\u202F](?=\d{3}(?!\d))', '\1', 'g'),
                '(\d)(?=[²³¹¼-¾⁰-⁹₀-₉⅐-⅞])', '\1 ', 'g'), NFKC), 'ß', 'ss'), 'ẞ', 'SS'),
        U&'\2010\2011\2212٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९٬٫یک'
        '\00AD\061C\200B\200E\200F\202A\202B\202C\202D\202E\2060\2066\2067\2068\2069\FEFF',
        '---012345678901234567890123456789,.يك'),
    '(' || unspaced_character() || ')', ' \1 ', 'g') END;

-- Return the text with a space between the parts of each CamelCase word.
CREATE OR REPLACE FUNCTION split_camel(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(p_text, '([[:lower:]\d])(?=[[:upper:]])|([[:upper:]])(?=[[:upper:]][[:lower:]])', '\1\2 ', 'g');

-- Return the compounds of a text (see split_compounds) in lower case, for example "inc-4821".
CREATE OR REPLACE FUNCTION compounds(p_text text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT lower(m[1]) FROM regexp_matches(plain_numbers(p_text), '\w+(?:[-./\\@:+#&=~|_]+\w+)+', 'g') AS m
        WHERE char_length(m[1]) <= 200
    );
END
$$;

-- Return a compound without its separators: "on-call" becomes "oncall". Separators between digits are kept, because 3-5
-- is not 35.
CREATE OR REPLACE FUNCTION joined(p_compound text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(regexp_replace(p_compound, '([[:alpha:]])[-./\\@:+#&=~|_]+', '\1', 'g'),
    '[-./\\@:+#&=~|_]+(?=[[:alpha:]])', '', 'g');

-- Return the numbers of a text that some people write in one part and other people in several parts. `joined` is the
-- number in one part. `parts` has the parts as they are written in the text, in lower case and with spaces between
-- them. `kind` is one of:
--   phone  a telephone number: "491701234567" for "+49 170 1234567", or another number in at least three groups
--   group  a number with spaces between the thousands: "1250.75" for "1 250,75"
--   unit   a number and a word of at most four letters after it: "6kg" for "6 kg"
--   Name   a number and the word before it, which has a capital letter: "rtx4090" for "RTX 4090"
--   name   a number and the word before it, which has no capital letter
--
-- For the kinds unit, Name and name, the word must not be an English stop word. Three stop words are nevertheless
-- units: am, m and s.
CREATE OR REPLACE FUNCTION numbers_in_parts(p_text text) RETURNS TABLE (kind text, joined text, parts text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    plain text := plain_numbers(p_text);
BEGIN
    IF plain !~ '\d' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT 'phone', regexp_replace(m[1], '\D', '', 'g'), regexp_replace(m[1], '[ ()./-]+', ' ', 'g')
    FROM regexp_matches(p_text, '((?:\+|\m0|\()\d[\d ()./-]{6,18}\d|\m[1-9]\d{1,3}(?: \d{2,4}){2,4}\M)', 'g') AS m
    UNION ALL
    SELECT 'group', replace(m[1], ' ', ''), m[1]
    FROM regexp_matches(plain, '\m([1-9]\d{0,2}(?: \d{3})+(?:\.\d+)?)\M', 'g') AS m
    UNION ALL
    SELECT 'unit', lower(m[1] || m[2]), lower(m[1] || ' ' || m[2])
    FROM (SELECT DISTINCT regexp_matches(plain, '\m(\d+(?:\.\d+)?) ([[:alpha:]]{1,4})\M', 'g')) AS pair (m)
    WHERE ts_lexize('english_stem', lower(m[2])) <> '{}' OR lower(m[2]) IN ('am', 'm', 's')
    UNION ALL
    SELECT CASE WHEN m[1] ~ '[[:upper:]]' THEN 'Name' ELSE 'name' END, lower(m[1] || m[2]), lower(m[1] || ' ' || m[2])
    FROM (SELECT DISTINCT regexp_matches(plain, '\m([[:alpha:]]+) (\d+(?:\.\d+)*)\M(?![-./:]\d)', 'g')) AS pair (m)
    WHERE ts_lexize('english_stem', lower(m[1])) <> '{}';
END
$$;

-- Return the numbers of a text that people write in several parts, each written in one part (see numbers_in_parts), for
-- example "rtx4090" for "RTX 4090". If the word before a number has no capital letter, the number is not joined to it.
CREATE OR REPLACE FUNCTION joined_numbers(p_text text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(SELECT n.joined FROM numbers_in_parts(p_text) AS n WHERE n.kind <> 'name');
END
$$;

-- Return the words of a text that some people write in one part and other people in several parts, all written in one
-- part. These are the joined numbers of the text (see numbers_in_parts), and its compounds without separators (see
-- joined), which are stemmed in the language p_language.
CREATE OR REPLACE FUNCTION joined_words(p_text text, p_language text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    dictionary regdictionary := stem_dictionary(p_language);
BEGIN
    RETURN ARRAY(SELECT unnest(ts_lexize(dictionary, joined(compound))) FROM unnest(compounds(p_text)) AS compound)
        || joined_numbers(p_text);
END
$$;

-- Whether words of a text may have other spellings (see spellings). This is a quick check. If the result is true, the
-- function `spellings` may still find none.
CREATE OR REPLACE FUNCTION may_have_spellings(p_text text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN octet_length(p_text) <> char_length(p_text)
    OR p_text ~ '\d|\w[-./\\@:+#&=~|_]\w|[[:lower:]][[:upper:]]|[AOao]e(?!s?\M)|[Uu]e(?!s?\M|st|sday)|[Aa]a';

-- Return other spellings of words of a query, at most ten. Each `spelling` stands for the words in `parts`, which have
-- spaces between them. For example, "oncall" stands for "on call" in the query "on-call", "6kg" for "6 kg", "mueller"
-- for "müller", and "1299" for "1.299". An Arabic word that ends with ى can also end with ي. If there are more than ten
-- spellings, the result has the kinds of spellings that searches need most often.
CREATE OR REPLACE FUNCTION spellings(p_query text) RETURNS TABLE (spelling text, parts text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    query text := plain_numbers(split_characters(p_query));
BEGIN
    IF NOT may_have_spellings(p_query) THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH word AS MATERIALIZED (
        SELECT DISTINCT lower(match[1]) AS word, CASE WHEN match[1] ~ '[^[:alpha:]]|[[:lower:]][[:upper:]]'
            THEN split_camel(split_compounds(match[1])) ELSE '' END AS parts
        FROM regexp_matches(query, '\w+(?:[-./\\@:+#&=~|_]+\w+)*', 'g') AS match
    ), part AS MATERIALIZED (
        SELECT DISTINCT part.word FROM word w
        CROSS JOIN string_to_table(CASE WHEN w.parts = '' THEN w.word ELSE lower(w.parts) END, ' ') AS part (word)
    )
    SELECT s.spelling, s.parts FROM (
        SELECT 2, joined(without_accents(w.word)), lower(w.parts) FROM word w
        WHERE w.parts ~ ' ' AND w.word !~ '^[^[:alpha:]]+$'
        UNION ALL
        SELECT CASE n.kind WHEN 'unit' THEN 3 WHEN 'Name' THEN 5 WHEN 'name' THEN 5 ELSE 1 END, n.joined, n.parts
        FROM numbers_in_parts(split_characters(p_query)) AS n
        UNION ALL
        SELECT 4, v.spelling, w.word FROM part w CROSS JOIN LATERAL (VALUES
            (CASE WHEN w.word ~ '^[1-9]\d{3,8}$' THEN regexp_replace(w.word, '(\d)(?=(?:\d{3})+$)', '\1.', 'g') END),
            (CASE WHEN w.word ~ '^\d{1,3}(\.\d{3})+$' THEN replace(w.word, '.', '') END),
            (CASE WHEN w.word ~ '^\d+\.00$' THEN split_part(w.word, '.', 1) END),
            (CASE WHEN w.word ~ '^v\d+(\.\d+)+$' THEN substr(w.word, 2) END),
            (CASE WHEN w.word ~ '[aou]e' THEN replace(replace(replace(w.word, 'ae', 'ä'), 'oe', 'ö'), 'ue', 'ü') END),
            (CASE WHEN w.word ~ 'aa|oe' THEN replace(replace(w.word, 'aa', 'å'), 'oe', 'ø') END),
            (CASE WHEN w.word ~ '[äöüøå]' THEN replace(replace(replace(replace(replace(
                w.word, 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'ø', 'oe'), 'å', 'aa') END),
            (CASE WHEN w.word ~ '...ى$' THEN regexp_replace(w.word, 'ى$', 'ي') END),
            (CASE WHEN w.word ~ '...ي$' THEN regexp_replace(w.word, 'ي$', 'ى') END)
        ) AS v (spelling) WHERE may_have_spellings(w.word)
        UNION ALL
        SELECT 6, w.word || '.00', w.word FROM part w WHERE w.word ~ '^[1-9]\d{2,8}$'
    ) AS s (rank, spelling, parts)
    WHERE s.spelling <> s.parts GROUP BY s.spelling, s.parts ORDER BY min(s.rank), s.spelling LIMIT 10;
END
$$;

-- Return the stem of a spelling (see spellings). The result is an empty array if the spelling is a stop word, or if the
-- stem has lost the accents of the spelling. Such a stem would find another word: "pöt", a spelling of "poet", would
-- become "pot".
CREATE OR REPLACE FUNCTION stem_of_spelling(p_spelling text, p_dictionary regdictionary) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_spelling) = char_length(p_spelling)
        OR octet_length(array_to_string(ts_lexize(p_dictionary, p_spelling), ''))
            > char_length(array_to_string(ts_lexize(p_dictionary, p_spelling), ''))
    THEN ts_lexize(p_dictionary, p_spelling) ELSE '{}' END;
