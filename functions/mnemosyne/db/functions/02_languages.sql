-- Detect the language of a text from its script and its function words, such as "the" and "and". The language
-- determines how the words of the text are stemmed.

-- Return a JSON object whose keys are the words and letters of language_evidence(). The value of a key is an array of
-- the languages in which the word or letter is common. A language is in this array twice if the word is in the column
-- `sure` of the language, and once if the word is in the column `maybe`. If p_frequent is true, the object also has the
-- words of frequent_words(), each with its language once.
CREATE OR REPLACE FUNCTION evidence_by_word(p_frequent boolean) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_object_agg(counted.word, counted.languages) FROM (
        SELECT word, jsonb_agg(language) AS languages FROM (
            SELECT e.language, w.word FROM language_evidence() AS e, string_to_table(e.sure || ' ' || e.sure, ' ') AS w (word)
            UNION ALL
            SELECT e.language, w.word FROM language_evidence() AS e, string_to_table(e.maybe, ' ') AS w (word)
            UNION ALL
            SELECT f.language, w.word FROM frequent_words() AS f, string_to_table(f.words, ' ') AS w (word) WHERE p_frequent
        ) AS each_ WHERE word <> '' GROUP BY word
    ) AS counted
);

-- Return a JSON object whose keys are words and letters from evidence_by_word(true). If p_english is true, the keys are
-- the words that indicate English. If p_english is false, the keys are all other words and letters. A word that
-- indicates both English and another language counts as English.
CREATE OR REPLACE FUNCTION evidence_for_english(p_english boolean) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT jsonb_object_agg(e.key, true) FROM jsonb_each(evidence_by_word(true)) AS e WHERE (e.value ? 'en') = p_english);

-- Return the language of a text, chosen from the languages in p_languages. The function counts the function words, the
-- frequent words and the special letters (letters that few languages have) of each language that occur in the text; see
-- language_evidence and frequent_words. Each of them counts once for its language, or twice if it is in the column
-- `sure`. How often it occurs in the text does not matter.
--
-- A function word or frequent word counts as a word, and its letters do not count. Of any other word, only one special
-- letter counts, so that one foreign name does not decide the language of an English text. If such a word has several
-- special letters, a letter that only one language has is preferred.
--
-- English is preferred: the result is English if the text has English words and no language has more than 1.5 times the
-- count of English. Otherwise the result is the language with the highest count. The result is null if the highest
-- count is below 2, and 'und' (undetermined) if two languages have the highest count. If these two are Spanish and
-- Catalan, the result is Spanish, which has many more speakers.
CREATE OR REPLACE FUNCTION language_of_words(p_text text, p_languages text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    evidence CONSTANT jsonb := evidence_by_word(true);
    best record;
BEGIN
    SELECT array_agg(votes.language ORDER BY votes.n DESC, votes.language) AS languages, array_agg(votes.n ORDER BY votes.n DESC) AS n,
        coalesce(max(votes.n) FILTER (WHERE votes.language = 'en'), 0) AS english
    INTO best FROM (
        SELECT v.language, count(*) AS n FROM (
            SELECT DISTINCT CASE WHEN evidence ? word THEN word
                ELSE coalesce(substring(word FROM '[ßñãõœêûłąęśżźćńřěůőűğşıșțăđơư\u1EA0-\u1EF9ыэё]'),
                    substring(word FROM '[äöü¿¡çèàéîøæåєїґ]')) END AS word, evidence ? word AS whole
            FROM string_to_table(p_text, ' ') AS word
        ) AS w CROSS JOIN LATERAL (
            SELECT DISTINCT e.language, CASE WHEN w.whole THEN e.place END AS place
            FROM jsonb_array_elements_text(evidence -> w.word) WITH ORDINALITY AS e (language, place)
        ) AS v GROUP BY v.language
    ) AS votes WHERE votes.language = ANY (p_languages);
    RETURN CASE
        WHEN best.languages IS NULL THEN NULL
        WHEN best.english > 0 AND best.n[1] <= 1.5 * best.english THEN 'en'
        WHEN best.n[1] < 2 THEN NULL
        WHEN best.n[1] = best.n[2] AND best.languages[1:2] = '{ca,es}' AND best.n[3] IS DISTINCT FROM best.n[1] THEN 'es'
        WHEN best.n[1] = best.n[2] THEN 'und'
        ELSE best.languages[1]
    END;
END
$$;

-- Return the language of a text as an ISO 639-1 code, detected from the first 1,000 characters.
--
-- The result is 'und' (undetermined) if two languages other than English are equally likely, or if the text is written
-- in letters of a language that the function does not know, such as Armenian. The result is null if the text has too
-- little evidence, for example if it has only names, code or a few words.
CREATE OR REPLACE FUNCTION text_language(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    english CONSTANT jsonb := evidence_for_english(true);
    others CONSTANT jsonb := evidence_for_english(false);
    beginning text := left(p_text, 1000);
    -- Remove text that says nothing about the language, or something wrong:
    --   * paths, URLs and names of files, because their parts are not words: "/usr/bin" has no German word "bin"
    --   * the letters of c++ and c#
    -- If the text has lower-case letters, also remove:
    --   * words of two or three capital letters, because they are abbreviations: "MIT" is not the German word "mit"
    --   * words that begin with a capital letter and have a Vietnamese letter, because they are names: the text
    --     "Đà Nẵng trip" is not in Vietnamese
    --   * single capital letters that are also shortened words of French or Italian: "vitamin C" is not French. But a
    --     letter before an apostrophe is kept, because it is such a shortened word, as in "C'est".
    prose text := regexp_replace(beginning, '\m[a-zA-Z](?=[+#])|[!-~]*([a-zA-Z0-9][/\\@_=]|[/\\]|[a-zA-Z][.])[a-zA-Z0-9][!-~]*'
        || CASE WHEN beginning ~ '[[:lower:]]' THEN '|\m[CDJLNST]\M(?![''’])'
            '|\m[A-Z]{2,3}\M|\m[[:upper:]]\w*[\u1EA0-\u1EF9]\w*\M' ELSE '' END, ' ', 'g');
    -- Replace punctuation by spaces. An apostrophe separates words, too: "l'eau" becomes "l eau".
    words text := translate(lower(normalize(prose, NFKC)), E'.,;:!?()[]{}<>"''’“”„«»…/\\|_*#`=+-\n\t\r¿¡',
        '                                            ¿¡');
    letters integer;
    script text;
BEGIN
    -- Return at once if the text has only ASCII characters and no function word of a language other than English. The
    -- result is English if the text has English function words, and otherwise null (unknown). Most English texts need
    -- no other check.
    IF octet_length(words) = char_length(words) AND NOT others ?| string_to_array(words, ' ') THEN
        RETURN CASE WHEN english ?| string_to_array(words, ' ') THEN 'en' END;
    ELSIF octet_length(words) > char_length(words) AND words ~ '[\u0370-\u1DFF\u2C00-\uD7FF\uF900-\uFFFF]' THEN
        letters := regexp_count(words, '[a-z\u00C0-\u024F]');
        -- Find the script other than Latin that has the most letters in the text. `script` stays null if none of these
        -- scripts has more letters than the Latin script. A Chinese or Japanese character counts as three letters and a
        -- Korean character as two, because such a character stands for several letters of other scripts.
        SELECT s.name INTO script FROM (VALUES
            ('cyrillic', regexp_count(words, '[\u0400-\u052F]')),
            ('arabic', regexp_count(words, '[\u0600-\u06FF]')),
            ('ideographs', 3 * regexp_count(words, '[\u3041-\u30FF\u3400-\u9FFF\uF900-\uFAFF]')),
            ('ko', 2 * regexp_count(words, '[\u1100-\u11FF\uAC00-\uD7AF]')),
            ('th', regexp_count(words, '[\u0E00-\u0E7F]')),
            ('devanagari', regexp_count(words, '[\u0900-\u097F]')),
            ('el', regexp_count(words, '[\u0370-\u03FF]')),
            ('he', regexp_count(words, '[\u0590-\u05FF]')),
            ('und', regexp_count(words, '[\u0530-\u058F\u0700-\u08FF\u0980-\u0DFF\u0E80-\u10FF\u1200-\u1DFF]'))
        ) AS s (name, n) WHERE s.n > letters ORDER BY s.n DESC LIMIT 1;
    END IF;
    RETURN CASE script
        WHEN 'cyrillic' THEN CASE
            WHEN words ~ '[іїєґ]' THEN 'uk'
            WHEN words ~ '[ђјљњћџѓќѕў]' THEN 'und'
            ELSE coalesce(nullif(language_of_words(words, '{ru,bg}'), 'und'), 'ru') END
        WHEN 'arabic' THEN CASE WHEN words ~ '[ٹڈڑںے]' THEN 'ur' WHEN words ~ '[پچژگکی]' THEN 'fa' ELSE 'ar' END
        WHEN 'ideographs' THEN CASE WHEN words ~ '[\u3041-\u30FF]' THEN 'ja' ELSE 'zh' END
        -- A text with the letter ळ or one of these function words is in Marathi or Nepali. The function does not
        -- distinguish these two languages, so the result is 'und' (undetermined).
        WHEN 'devanagari' THEN CASE
            WHEN ' ' || words || ' ' ~ 'ळ| (आहे|आहेत|आणि|मला|माझा|माझी|माझे|नाही|छ|छन्|छु|छैन|हुन्छ|भयो|मेरो|तिमी) ' THEN 'und'
            ELSE 'hi' END
        ELSE coalesce(script, language_of_words(words, '{en,de,nl,sv,da,no,fr,es,pt,it,ca,ro,fi,hu,tr,pl,cs,id,vi}'))
    END;
END
$$;

-- Return the text search configuration that stems the words of a language. The result is `english` if the language is
-- null (unknown), and `simple`, which does not stem, if PostgreSQL has no stemmer for the language.
CREATE OR REPLACE FUNCTION stemmer(p_language text) RETURNS regconfig
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE coalesce(p_language, 'en')
    WHEN 'en' THEN CAST('english' AS regconfig) WHEN 'de' THEN 'german' WHEN 'nl' THEN 'dutch' WHEN 'sv' THEN 'swedish'
    WHEN 'da' THEN 'danish' WHEN 'no' THEN 'norwegian' WHEN 'fr' THEN 'french' WHEN 'es' THEN 'spanish'
    WHEN 'pt' THEN 'portuguese' WHEN 'it' THEN 'italian' WHEN 'ca' THEN 'catalan' WHEN 'ro' THEN 'romanian'
    WHEN 'fi' THEN 'finnish' WHEN 'hu' THEN 'hungarian' WHEN 'tr' THEN 'turkish' WHEN 'id' THEN 'indonesian'
    WHEN 'ru' THEN 'russian' WHEN 'ar' THEN 'arabic' WHEN 'hi' THEN 'hindi' WHEN 'el' THEN 'greek' ELSE 'simple' END;

-- Return the dictionary that stems the words of a language, or `simple` if PostgreSQL has no stemmer for the language.
-- The dictionaries are constants in the code, because looking up a dictionary by its name takes 20 times as long as a
-- constant.
CREATE OR REPLACE FUNCTION stem_dictionary(p_language text) RETURNS regdictionary
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE coalesce(p_language, 'en')
    WHEN 'en' THEN CAST('english_stem' AS regdictionary) WHEN 'de' THEN 'german_stem' WHEN 'nl' THEN 'dutch_stem'
    WHEN 'sv' THEN 'swedish_stem' WHEN 'da' THEN 'danish_stem' WHEN 'no' THEN 'norwegian_stem' WHEN 'fr' THEN 'french_stem'
    WHEN 'es' THEN 'spanish_stem' WHEN 'pt' THEN 'portuguese_stem' WHEN 'it' THEN 'italian_stem'
    WHEN 'ca' THEN 'catalan_stem' WHEN 'ro' THEN 'romanian_stem' WHEN 'fi' THEN 'finnish_stem'
    WHEN 'hu' THEN 'hungarian_stem' WHEN 'tr' THEN 'turkish_stem' WHEN 'id' THEN 'indonesian_stem'
    WHEN 'ru' THEN 'russian_stem' WHEN 'ar' THEN 'arabic_stem' WHEN 'hi' THEN 'hindi_stem' WHEN 'el' THEN 'greek_stem'
    ELSE 'simple' END;

-- Return p_words without the stop words of the language p_language. The stop words are those of PostgreSQL's stemmer
-- for the language, and the function words of the language in language_evidence().
CREATE OR REPLACE FUNCTION without_stop_words(p_words tsvector, p_language text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    evidence CONSTANT jsonb := evidence_by_word(false);
    dictionary regdictionary := stem_dictionary(p_language);
BEGIN
    RETURN ts_delete(p_words, ARRAY(
        SELECT word FROM unnest(tsvector_to_array(p_words)) AS word
        WHERE evidence -> word ? p_language OR ts_lexize(dictionary, word) = '{}'
    ));
END
$$;
