-- Return the polarity words of a text. These are words that may reverse its meaning, such as "not" or "before". Two
-- memories count as similar only if they have the same polarity words. Without this condition, a statement and its
-- negation would count as similar, because "not" is a stop word in most languages.
--
-- The list has words of the languages with a stemmer, and of Polish, Czech, Ukrainian and Vietnamese. For Korean, Hindi
-- and scripts without spaces between words, the regular expression at the end looks for parts of words.
--
-- Five words of the list are polarity words in one language, but frequent words with another meaning in other
-- languages: "en" and "et" (Finnish), "na" (Dutch), "nu" (Romanian) and "sau" (Vietnamese). For example, "et" means
-- "and" in French. The result has such a word only if the text is in the language in which the word is a polarity word,
-- or if the language of the text is unknown.
CREATE OR REPLACE FUNCTION polarity_words(p_text text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY(
    SELECT word FROM (SELECT unnest(plain_words(p_text)) INTERSECT SELECT unnest(CAST(
        '{not,no,nor,never,none,t,without,off,on,up,down,out,before,after,above,below,under,over,more,less,until,since,'
        'nicht,kein,keine,keinen,keinem,keiner,nie,niemals,nichts,ohne,weder,vor,nach,mehr,weniger,bis,seit,'
        'nunca,ni,nada,sin,antes,después,más,menos,ningún,ninguna,jamás,tampoco,cap,després,més,menys,'
        'ne,pas,jamais,rien,aucun,aucune,sans,avant,après,plus,moins,'
        'non,mai,né,senza,prima,dopo,più,meno,nessun,nessuno,nessuna,não,nem,sem,depois,mais,nenhum,nenhuma,'
        'niet,geen,nooit,niets,zonder,voor,vóór,na,meer,minder,'
        'ikke,aldrig,ingen,intet,uden,før,efter,aldri,uten,etter,inte,ej,inget,inga,utan,före,mer,mindre,'
        'ei,en,et,emme,ette,eivät,ilman,ennen,jälkeen,enemmän,vähemmän,nincs,soha,nélkül,előtt,után,több,kevesebb,'
        'nu,nici,niciodată,fără,înainte,după,tidak,bukan,jangan,belum,tanpa,sebelum,sesudah,setelah,'
        'değil,yok,hiç,önce,sonra,δεν,δε,μη,μην,ποτέ,χωρίς,πριν,μετά,'
        'не,нет,ни,никогда,нельзя,без,до,после,ні,ніколи,немає,після,більше,менше,'
        'لا,ليس,ليست,لم,لن,ما,غير,بدون,دون,قبل,بعد,أبدا,ولا,ولم,وليس,'
        'nie,nigdy,bez,przed,po,nikdy,není,nejsou,nemá,před,không,chưa,chẳng,trước,sau}' AS text[]))) AS w (word)
    WHERE CASE
        WHEN word IN ('en', 'et') THEN text_language(p_text) IN ('fi', 'und')
        WHEN word = 'na' THEN text_language(p_text) IN ('nl', 'und')
        WHEN word = 'nu' THEN text_language(p_text) IN ('ro', 'und')
        WHEN word = 'sau' THEN text_language(p_text) IN ('vi', 'und')
        END IS NOT FALSE
    UNION SELECT part[1] FROM regexp_matches(literal_form(p_text),
        '(不|没|沒|無|无|非|未|勿|前|後|后|以上|以下|ない|なかっ|なく|ませ|ずに|않|없|못|아니|전에|후에|ไม่|ก่อน|หลัง|नहीं|बिना|पहले|बाद|ບໍ່|មិន|မ)',
        'g') AS part
    ORDER BY 1
);

-- Return the words of a memory's title and content. Tags are left out, because similar memories may have different
-- tags.
CREATE OR REPLACE FUNCTION content_words(p_title text, p_content text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN tsvector_to_array(words_of(searched_text(p_title, p_content)));

-- Return the symbols of a text, such as +, - and $, in their order. Letters, digits, spaces and punctuation marks such
-- as commas and quotation marks are left out. Symbols distinguish "A+" from "A-", and "over $5" from "over 5".
CREATE OR REPLACE FUNCTION symbols_of(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN regexp_replace(regexp_replace(p_text, '[!?]+(\s|$)', '\1', 'g'), '[[:alnum:][:space:].,;:''"()…‘’“”]', '', 'g');

-- Return the memory p_id itself and then its neighbours, the nearest first. The neighbours are the forty memories with
-- the nearest embeddings, among the memories that are not superseded.
--
-- `is_similar` marks neighbours that make nearly the same statement as the memory. It is true for the nearest three of
-- the neighbours for which all these conditions are true:
--   * The neighbour is one of the eight nearest neighbours.
--   * The longer of the two memories is at most four times as long as the shorter one.
--   * Both contents have the same polarity words (such as "not") and the same symbols (such as "$").
--   * The set of words of the neighbour (see content_words) is a subset or a superset of the memory's set of words.
--   * The smaller of these two sets has at least three words, and at least three quarters as many words as the larger
--     set.
-- Therefore a neighbour that differs by one replaced word ("on Monday", "on Friday") is not similar.
--
-- For the memory itself, `content` has the first 20,000 characters. For a neighbour with an earlier timestamp,
-- `content` is complete, because an earlier memory may state another value of the same fact. These contents have at
-- most 64,000 bytes in total: `content` is null for the neighbour with which the total would exceed this limit, and for
-- all neighbours after it in the result. For a neighbour with a later timestamp, `content` is always null.
CREATE OR REPLACE FUNCTION neighbours(p_namespace text, p_id uuid)
RETURNS TABLE (
    id uuid, "timestamp" timestamptz, title text, tags text[], superseded_by uuid, is_similar boolean, content text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    nearest CONSTANT integer := 40;
    compared CONSTANT integer := 8;
    most_bytes CONSTANT integer := 64000;
    filters memory_filters := parse_filters('{"include_superseded": false}');
    own_memories bigint := (SELECT coalesce(sum(u.memories), 0) FROM namespace_usage u WHERE u.namespace = p_namespace);
    own memories;
    own_length integer;
    own_words text[];
BEGIN
    PERFORM require_session_namespace(p_namespace);
    SELECT * INTO own FROM memories m WHERE m.namespace = p_namespace AND m.id = p_id AND is_unexpired(m.expires_at);
    IF own.id IS NULL THEN
        RETURN;
    END IF;
    own_length := octet_length(own.title) + octet_length(own.content);
    own_words := content_words(own.title, own.content);
    RETURN QUERY SELECT own.id, own."timestamp", own.title, own.tags, own.superseded_by, false, left(own.content, 20000);
    RETURN QUERY
    WITH near AS MATERIALIZED (
        SELECT n.id, n.vector_score, row_number() OVER (ORDER BY n.vector_score DESC, n.id) AS place
        FROM (
            SELECT * FROM knn_exact(p_namespace, filters, own.embedding, nearest + 1) WHERE own_memories <= 2000
            UNION ALL SELECT * FROM knn_hnsw(p_namespace, filters, own.embedding, nearest + 1) WHERE own_memories > 2000
        ) AS n
        WHERE n.id <> p_id
    ), judged AS (
        SELECT m.id, m."timestamp", m.title, m.tags, m.superseded_by, m.content, near.place,
            (m."timestamp", m.id) < (own."timestamp", own.id) AS is_earlier,
            -- The lengths of the two memories are compared before their words, because extracting the words of a long
            -- memory takes a fifth of a second.
            near.place <= compared AND 4 * least(length, own_length) >= greatest(length, own_length) AND (
                SELECT (words <@ own_words OR words @> own_words)
                    AND least(cardinality(words), cardinality(own_words))
                        >= greatest(3, 0.75 * greatest(cardinality(words), cardinality(own_words)))
                    AND polarity_words(m.content) = polarity_words(own.content)
                    AND symbols_of(m.content) = symbols_of(own.content)
                FROM content_words(m.title, m.content) AS words
            ) AS is_similar
        FROM near JOIN memories m ON m.id = near.id
        CROSS JOIN LATERAL (SELECT octet_length(m.title) + octet_length(m.content)) AS l (length)
    ), counted AS (
        SELECT j.*, count(*) FILTER (WHERE j.is_similar) OVER by_place AS similar_so_far,
            sum(octet_length(j.content)) FILTER (WHERE j.is_earlier) OVER by_place AS bytes_so_far
        FROM judged j WINDOW by_place AS (ORDER BY j.place)
    )
    SELECT c.id, c."timestamp", c.title, c.tags, c.superseded_by, c.is_similar AND c.similar_so_far <= 3,
        CASE WHEN c.is_earlier AND c.bytes_so_far <= most_bytes THEN c.content END
    FROM counted c
    ORDER BY c.place;
END
$$;
GRANT EXECUTE ON FUNCTION neighbours(text, uuid) TO mnemosyne_runtime, mnemosyne_mcp;
