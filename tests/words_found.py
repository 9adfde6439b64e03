"""Queries, and contents that they find by a word.

There are some for each script, Unicode normal form and kind of compound word.
"""

import unicodedata

MENU = "Crème brûlée recipe for Zoë"
FOUND: list[tuple[str, str]] = [
    ("creme brulee", MENU),
    ("Zoe", MENU),
    ("Zoë", MENU),
    ("ZOË", MENU),
    ("Zoë", "Zoe sings"),
    (unicodedata.normalize("NFD", "Zoë"), MENU),
    ("Zoë", unicodedata.normalize("NFD", "Zoë wrote")),
    ("Zoe", unicodedata.normalize("NFD", "Zoë wrote")),
    ("Lodz", "The train to Łódź leaves at noon"),
    ("Strasse", "Die Straße ist gesperrt"),
    ("Koln", "Der Zug nach Köln"),
    ("smorrebrod", "Lunch is smørrebrød"),
    ("oeuvre", "Her œuvre is large"),
    ("Viet Nam", "Việt Nam nights"),
    ("Istanbul", "İstanbul in spring"),
    ("Ελλας", "Η ΕΛΛΆΣ το καλοκαίρι"),
    ("елка", "Новогодняя ёлка"),
    ("ёлка", "Новогодняя елка"),
    ("למד", "לָמֶּד is written with points"),
    ("محمد", "مُحَمَّد wrote the letter"),
    ("हिन्दी", unicodedata.normalize("NFD", "हिन्दी की किताब")),
    ("한국어", unicodedata.normalize("NFD", "한국어 수업")),
    ("ガス", "ｶﾞｽ料金"),
    ("file", "The ﬁle is on the shelf"),
    ("Ada", "Ａｄａ signed it"),
    ("４８２１", "Order 4821 arrived"),
    ("v1.2.3", "v1.2.3-rc1 shipped"),
    ("1.2.3", "v1.2.3-rc1 shipped"),
    ("rc1", "v1.2.3-rc1 shipped"),
    ("3.12", "We run python3.12 now"),
    ("retry", "Set max_retry_count to 5"),
    ("max_retry_count", "Set max_retry_count to 5"),
    ("retry", "The max-retry-count flag"),
    ("retry", "MaxRetryCount is 5"),
    ("MaxRetryCount", "MaxRetryCount is 5"),
    ("maxretrycount", "MaxRetryCount is 5"),
    ("response", "parseHTTPResponse failed"),
    ("http", "parseHTTPResponse failed"),
    ("python", "It is in /usr/local/lib/python/site.py"),
    ("notes", "C:\\Users\\ada\\notes.txt"),
    ("pudding", "Grandma-Elsie_pudding.md"),
    ("pdf", "report_final-v2.pdf"),
    ("ada", "ada.lovelace@example.com"),
    ("lovelace", "ada.lovelace@example.com"),
    ("example.com", "ada.lovelace+lists@mail.example.com"),
    ("ada.lovelace@example.com", "Mail ada.lovelace@example.com today"),
    ("4821", "INC-4821 is closed"),
    ("INC-4821", "See INC-4821."),
    ("77", "Merged in PR#77"),
    ("coffee", "tea/coffee"),
    ("method", "x.y.z.method() returns"),
    ("1200", "It cost 1,200 crowns"),
    ("html", "https://example.com/a/page.html?x=1"),
    ("level", "log.level=debug"),
    ("192.168.1.10", "The host 192.168.1.10 is up"),
    ("left", "Choose left|right"),
    ("brown", "Smith&Brown Ltd"),
]
NOT_FOUND: list[tuple[str, str]] = [
    ("1.2.3", "v1.2.4 shipped"),
    ("3.14", "3 and 14"),
    ("1.2", "v1.2.3-rc1 shipped"),
    ("Zoe", "Zone five"),
    ("カ", "ガス"),
    ("ह", "हिन्दी"),
    ("art", "party"),
    ("script", "scripture"),
]
FOUND_LITERALLY: list[tuple[str, str]] = [
    ("zoë", unicodedata.normalize("NFD", "for Zoë again")),
    (unicodedata.normalize("NFD", "Zoë"), "for ZOË again"),
    ("crème br", MENU),
    ("ﬁle", "The file is here"),
    ("file", "The ﬁle is here"),
    ("Ada 42", "Ａｄａ ４２"),
    ("한국", unicodedata.normalize("NFD", "한국어 수업")),
    ("ガス", "ｶﾞｽ料金"),
    ("हिन्दी", unicodedata.normalize("NFC", "हिन्दी की किताब")),
    ("ёлка", unicodedata.normalize("NFD", "ЁЛКА")),
    ("1.2.3-rc", "v1.2.3-RC1 shipped"),
]
NOT_FOUND_LITERALLY: list[tuple[str, str]] = [
    ("Zoe", unicodedata.normalize("NFC", "for Zoë again")),
    ("Zoe a", unicodedata.normalize("NFD", "for Zoë again")),
    ("creme", MENU),
    ("v1.2.3 ", "v1.2.3-rc1"),
]

INFLECTED: list[tuple[str, str]] = [
    ("Rechnung", "Alle Rechnungen sind seit gestern bezahlt"),
    ("Rechnungen", "Die Rechnung ist noch nicht bezahlt"),
    ("Hauser", "Die Häuser am See sind teuer"),
    ("Haus", "Die Häuser am See sind teuer"),
    ("fattura", "Le fatture sono nella cartella blu"),
    ("bambino", "I bambini della scuola sono in gita"),
    ("factura", "Las facturas están en la carpeta azul"),
    ("facturación", "Las facturas están en la carpeta azul"),
    ("facture", "Les factures sont dans le dossier bleu"),
    ("chevaux blancs", "Le cheval blanc est dans le pré"),
    ("facturas", "A fatura e a factura estão na pasta azul"),
    ("rekening", "De rekeningen zijn nog niet betaald"),
    ("faktura", "Fakturorna är i den blå mappen och kvittona också"),
    ("lasku", "Laskut ovat sinisessä kansiossa ja ne on maksettu"),
    ("kitap", "Bu kitaplar için çok para verdi"),
    ("счёт", "Счета лежат в синей папке"),
    ("счета", "Этот счет уже оплачен"),
    ("книгами", "Новая книга лежит на столе"),
    ("المعلم", "وصل معلم جديد إلى المدرسة"),
]
"""Queries of one or two words, with contents that have the word in another grammatical form. The content shows the
language."""
NOT_CONFLATED: list[tuple[str, str]] = [
    ("Mai", "Wir ernten den Mais im Herbst und trocknen ihn"),
    ("Rei", "Der Reis ist in der Küche und nicht im Keller"),
    ("organ", "Wir organisieren das Fest mit der Organisation"),
    ("pari", "Je suis à Paris avec ma sœur et nous mangeons"),
    ("organ", "La organización está en el centro de la ciudad"),
    ("нов", "Новости читают вечером в гостиной"),
]
"""Queries that are equal to the English stem of a word in the content."""
FUNCTION_WORDS: list[tuple[str, str]] = [
    ("Когда груз прибудет в порт?", "Ключ висит в коридоре, когда никого нет"),
    ("Wo ist der Schlüssel für die Garage?", "Die Miete ist für das Haus und der Garten ist groß"),
    ("Où est la clé de la cave ?", "Le train est à la gare, où la pluie tombe"),
    ("Dónde está la llave del sótano", "Está en la ciudad, donde llueve y la gente canta"),
    ("Dov'è la chiave della cantina?", "La pasta è nella pentola, dov'è calda"),
    ("متى تصل الشحنة إلى الميناء؟", "ذهب إلى السوق متى أراد"),
    ("鍵はどこですか", "犬はここで寝ます"),
]
"""Questions that have only function words, such as "the", in common with the content."""
