"""Word lists in several languages, by which other modules recognise sentences about changed facts. Pure.

For example, "moved" in "We moved to Berlin" indicates a change. Two sentences in a language without word lists are
compared only by their numbers and names.
"""

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION: Final = _words("""
    a an the this that these those of in on at by for with to from into as about around behind through via per than
    and or but so since until it its he she they them his her hers their theirs we us our ours you your there here
    o'clock uhr
    who which what when where while also too only just still again very already most all every each both such any some
    was were been being be am do does did done would will shall may can could should must might
    after before behind under over above below between during within because then though up down off out ones one's
    has have had having get gets got goes go went use uses used using keep keeps kept make makes made take takes taken
    put puts give gives given let lets want wants think thinks guess know mean hope look looks call calls
    der die das den dem des ein eine einen einem einer eines und oder aber in im an am auf bei mit von vom zu zum zur
    nach für um aus als wie er sie es wir ihr ihre ihren ihrem ihrer sein seine seinen seinem uns unser unsere dass alle
    wird werden wurde wurden war waren hat haben hatte worden sich auch noch schon sehr nur so da dort hier seit bis ab
    el la los las un una unos unas y o pero en de del al a con por para que se su sus lo le les nos nuestro nuestra como
    muy más fue era ha han sido también
    le les une des du et ou mais dans au aux avec par pour que qui sur ses sa son leur leurs il ils elles ce cette
    il lo gli uno di da con per che nel nella nei sul sulla alla al si suo sua loro
    o os um uma uns umas e em no na nos nas do da dos das ao com por para que seu sua
    het een en van op te voor met aan bij naar uit door
""")
"""Function words, such as "the" and "in". Two statements of one fact may have different function words."""

COPULAS: Final = _words("is are equals ist sind es está son están est sont è é sono são is zijn です")
"""Forms of "to be" that join a subject to a value, such as "is" in "the port is 80". A comparison of two sentences
ignores these words."""

STATIVE: Final = COPULAS | _words("""
    cost costs live lives last lasts weigh weighs work works called named located based start starts opens ends closes
    prefer prefers own owns
    beträgt betragen kostet kosten heißt wohnt arbeitet beginnt liegt läuft
    cuesta cuestan vive trabaja usa tiene llama
    coûte habite travaille commence
    costa vive abita lavora
    custa mora
    kost woont heet
""")
"""Verbs of lasting states. A sentence without such a verb may describe a single event, which does not contradict
another event."""

PERSONAL: Final = frozenset((
    "lives", "prefers", "works at", "works for", "wohnt", "arbeitet bei", "vive", "trabaja en", "habite",
    "travaille chez", "abita", "lavora per", "mora", "woont",
))  # fmt: skip
"""Verbs whose subject is a person. A capitalised word before such a verb is a name, even at the beginning of a
sentence."""

COUNTING: Final = _words("has have had must may hat haben muss darf tiene tienen ha hanno heeft")
"""Verbs that state a lasting fact together with a number: "has 24 nodes"."""

MARKERS: Final = _words("""
    instead_of rather_than replaces sold gave_away has_left en_lugar_de en_vez_de au_lieu_de invece_di anstelle statt
    now currently nowadays anymore instead moved move moves changed change changes switched switch renamed became
    replaced replaces replace upgraded downgraded migrated raised lowered increased reduced extended
    postponed rescheduled relocated promoted rewritten reinstalled transferred updated scaled rebooked new
    retired relaxed took_over
    jetzt nun inzwischen neuerdings nunmehr gewechselt umgezogen gezogen geändert
    umbenannt verlegt verschoben neu neue neuer
    ahora actualmente mudó cambió pasó renombró
    maintenant désormais déménagé changé
    adesso ora ormai cambiato trasferito
    agora atualmente mudou
    nu voortaan
    अब
""")
"""Words that indicate a change."""

NEGATIONS: Final = _words("""
    not no never nor neither don't doesn't didn't isn't aren't wasn't can't cannot won't shouldn't
    nicht kein keine keinen keinem nie niemals
    nunca jamás
    ne n pas jamais
    non mai
    não
    niet geen
    не нет ні немає
    inte aldrig ej ingen inget ikke intet
    δεν δε μην ποτέ
    nem nincs nincsenek soha
    nie nigdy není nejsou değil
    لا ليس ليست لم لن غير
    नहीं
""")

OLD_FOLLOWS: Final = _words("""
    from instead_of not rather_than replaces replace has_left sold gave_away anstelle statt von nicht
    desde en_lugar_de en_vez_de au_lieu_de invece_di
""")
"""Words that precede a value that is no longer true, such as "from" in "from 7 to 9": the value 7 is no longer true."""

NO_LONGER: Final = _words("no_longer")
"""The word by which PHRASES replaces expressions such as "no longer". The value at the end of the clause is no longer
true, such as 7 in "no longer runs on 7"."""

CLAUSE_WORDS: Final = _words("to and but nach und sondern y e et mais")
"""Words that follow a value that is no longer true, such as "to" in "from 7 to 9": the value 9 after it is true."""

EVENTS: Final = _words("today yesterday tonight heute gestern hoy ayer hier aujourd'hui oggi ieri hoje ontem 今日 昨日")
DETERMINERS: Final = _words(
    "the every our my his her their its der die das den dem unser unsere el la los las le les il lo"
)
SPEAKER_WORDS: Final = _words(
    "i my me mine i'm i've i'll ich mein meine meinen mir mich yo mi mis je mon ma mes io mio mia 私 僕 俺"
)
"""Words that refer to the speaker."""

CONDITIONS: Final = _words("if unless wenn falls si se als indien")
"""First words of a sentence with a condition, such as "if". The clauses of such a sentence are true only under its
condition, so they are not compared separately."""

UNKNOWN_SUBJECTS: Final = _words("""
    it he she they this that these those there which who him her them er sie es ella él ellos elle ils 彼 彼女 それ これ
    you please do does did don't not no can could would should if when let lets let's
    maybe perhaps bitte kannst wenn falls si puedes peux
    yes ok okay ja nein sí oui
""")
"""First words of sentences that are not compared. The subject of the sentence is unknown ("it", "she"), or the sentence
states nothing ("please", "if")."""

_NO_LONGER_APART: Final = tuple(
    rf"\b(?:{negation})((?:(?!(?:pas|nur|alleen|solo)\b)[\w'’-]+ ){{0,5}}?)(?:{more})\b(?! (?:{than}))"
    for negation, more, than in (
        (r"\w*n['’]t |(?:can)?not |never ", "any ?(?:more|longer)", "than"),
        (r"(?:nicht|nie|kein\w*) ", "mehr", "als"),
        ("(?:niet|nooit|geen) ", "meer|langer", "dan"),
        (r"ne |n['’] ?", "plus", "que"),
        ("non ", "più", r"che|di \d"),
        ("no ", "más", r"que|de \d"),
        ("não ", "mais", r"que|do que|de \d"),
        ("(?:inte|ikke|ingen|inget) ", "längre|længere|lenger", "än|end|enn"),
        ("δεν ", "πια|πλέον", "από"),
    )
)
"""Patterns of negations of two parts that mean "no longer", with other words in between, such as "kein Fleisch mehr".
The only group of each pattern has the words in between. A comparison ("nicht mehr als 5") does not match."""

PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bno (?:longer|more)\b(?! than)|\bya no\b|\bjá não\b|\b(?:больше|уже|більше|вже) не\b|\bjuż nie\b"
         r"|\b(?:már|többé) nem\b|\bnu mai\b|\bلم [يت]عد\b",
         " no_longer "),
        *((pattern, r" no_longer \1 ") for pattern in _NO_LONGER_APART),
        # "Nu" is "not" in Romanian, but "now" in Dutch, Danish and Swedish. So it is "not" only before a Romanian word.
        (r"\bnu (?=(?:este|sunt|are|au|am|se|poate)\b|\w*[ășțşţ])", " not "),
        (r"\binstead of\b", " instead_of "),
        (r"\brather than\b", " rather_than "),
        (r"\bgave away\b", " gave_away "),
        (r"\btook over\b", " took_over "),
        (r"\b(has|have|had) left\b", " has_left "),
        (r"\ben lugar de\b|\ben vez de\b", " en_lugar_de "),
        (r"\bau lieu de\b", " au_lieu_de "),
        (r"\binvece di\b", " invece_di "),
        (r"\b(from|as of|since|until) (now on|now|today|this (week|month|year)|next (week|month|year)"
         r"|(january|february|march|april|may|june|july|august|september|october|november|december)(?! (?:to|\d)))\b",
         " now "),
        (r"\bthese days\b|\bthis (week|month|year)\b|\bat the moment\b|\bfor now\b", " now "),
        (r"\bab sofort\b|\bseit (heute|gestern|januar|februar|märz|april|mai|juni|juli|august|september|oktober"
         r"|november|dezember)\b", " jetzt "),
        (r"\ba partir de ahora\b|\bdesde ahora\b", " ahora "),
        (r"\bà partir de maintenant\b", " maintenant "),
        (r"ではなくて?|じゃなくて?", " old_before "),
        (r"から(?=[^、。]*(?:変|引っ越|移|になりました))", " old_before "),
        (r"(?:に|へ)?(?:引っ越し(?:まし)?た|変わりました|変わった|変更(?:されました|になりました|しました)|移りました"
         r"|になりました)", " now "),
        (r"(?<![\u3040-\u309f])もう(?=[^。]*(?:ない|ません))|(?<=は)もう(?=[^。]*(?:ない|ません))", " no_longer "),
        (r"(?<=は)今は?|現在は?|これからは", " now "),
        (r"ていません|ません(?:でした)?|くない|ではない", " not "),
    )
)  # fmt: skip
"""Expressions of several words, each with the single word that replaces the expression, such as `no_longer`. The text
is replaced before a sentence is split into words."""

NUMBERS: Final = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    )
    for number, word in enumerate(words.split())
    if word not in ("null", "ein", "one")
} | {"fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100",
     "noon": "12", "midnight": "0"}  # fmt: skip
